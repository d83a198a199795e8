import LocalFiles
import Platform
import Roots
import Storage

/// An unnamed file for received bytes of an upload that the engine has not taken yet.
package final class IncomingWindow: Sendable {
    /// In bytes: the maximum that the engine takes in one step.
    package static let size: Int64 = 8 << 20

    private let file: OpenFile
    private let threads: WorkerThreads

    fileprivate init(_ file: OpenFile, _ threads: WorkerThreads) { (self.file, self.threads) = (file, threads) }

    /// Writes bytes at an offset of the window.
    package func write(_ bytes: [UInt8], at offset: Int64) async throws(StorageError) {
        try await threads.run { [file] in
            Result { () throws(StorageError) in
                try storing("the bytes of an upload") { () throws(SystemError) in
                    let written = bytes.withUnsafeBytes { bytes in
                        Result { () throws(SystemError) in try file.write(bytes, at: offset) }
                    }
                    try written.get()
                }
            }
        }.get()
    }

    /// The first bytes of the window, as bytes of the object from `start` on.
    package func piece(_ count: Int64, from start: Int64) -> IncomingBytes.Piece {
        IncomingBytes.Piece(count, from: start) { [file] buffer, offset throws(StorageError) in
            let read = try storing("the bytes of an upload") { () throws(SystemError) in
                try file.read(into: buffer, at: offset - start)
            }
            guard read == buffer.count else { throw StorageError(.internalError, "The bytes have not arrived.") }
        }
    }
}

extension EmbeddedBackend {
    package func makeWindow() async throws(StorageError) -> IncomingWindow {
        try await files.run { [objectFiles, files] in
            Result { () throws(StorageError) in
                IncomingWindow(
                    try storing(objectFiles.path) { () throws(SystemError) in try objectFiles.unnamed() }, files)
            }
        }.get()
    }
}
