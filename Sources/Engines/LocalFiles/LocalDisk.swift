import Platform
import Storage

/// The files of this machine, restricted to the directories that the service may access.
package struct LocalDisk: LocalFileAccess {
    private let allowed: FileAccessPolicy
    private let threads: WorkerThreads

    package init(_ allowed: FileAccessPolicy, on threads: WorkerThreads) {
        (self.allowed, self.threads) = (allowed, threads)
    }

    package func inspect(_ path: String, below tree: (any LocalTree)?) async throws(StorageError) -> FileIdentity {
        let tree = (tree as? DirectoryTree)?.directories
        return try await threads.run { [allowed] in
            Result { () throws(StorageError) in try SourceFile.inspect(path, below: tree, in: allowed.reading) }
        }.get()
    }

    package func read(_ path: String, upTo most: Int64) async throws(StorageError) -> (FileIdentity, [UInt8]?) {
        try await threads.run { [allowed] in
            Result { () throws(StorageError) in try SourceFile.read(path, upTo: most, in: allowed.reading) }
        }.get()
    }

    package func tree(_ directory: String, isWritten: Bool) -> any LocalTree {
        DirectoryTree(directory, in: allowed, isWritten: isWritten, on: threads)
    }

    package func confined(to confinement: LocalConfinement) -> any LocalFileAccess {
        LocalDisk(allowed.narrowed(to: confinement), on: threads)
    }

    package func confinement(
        reading: [String]?, writing: [String]?
    ) async throws(StorageError) -> LocalConfinement {
        try await threads.run { [allowed] in
            Result { () throws(StorageError) in try allowed.confinement(reading: reading, writing: writing) }
        }.get()
    }
}
