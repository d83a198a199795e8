import Foundation
import Glibc
import Testing

// Files whose bytes have not reached the disk.

/// Leads the open descriptors of a file to another file, as if the disk failed.
package func redirect(descriptorsOf path: String, to other: String) throws {
    let file = open(other, O_RDWR | O_CLOEXEC)
    try #require(file >= 0)
    defer { close(file) }
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { name in
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)"))?.hasPrefix(path) == true
    }
    try #require(!descriptors.isEmpty)
    for descriptor in descriptors { try #require(dup2(file, #require(Int32(descriptor))) >= 0) }
}

/// Runs `body` while the open descriptor of a directory leads to a pipe, which cannot be synced.
package func withoutSync(ofDirectory path: String, _ body: () throws -> Void) throws {
    let descriptor = try #require(
        FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").first { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")) == path
        }.flatMap { Int32($0) })
    var pipes: [Int32] = [0, 0]
    let kept = dup(descriptor)
    try #require(kept >= 0 && pipe(&pipes) == 0 && dup2(pipes[0], descriptor) >= 0)
    defer {
        dup2(kept, descriptor)
        for file in pipes + [kept] { close(file) }
    }
    try body()
}

/// Makes a hole of the first `count` bytes of a file, which have been zeros.
package func lose(bytesOf path: String, _ count: Int) throws {
    try #require(truncate(path, 0) == 0 && truncate(path, count) == 0)
    try #require(takenBlocks(of: path) == 0)
}

/// The number of the disk's blocks with bytes of a file: none for a hole.
package func takenBlocks(of path: String) throws -> Int {
    var status = stat()
    try #require(stat(path, &status) == 0)
    return status.st_blocks
}
