import Platform

/// Makes the names in directories durable. Threads that change the same directory share the work.
enum DirectorySync {
    private static let syncs = SharedSync<FileStatus.Key>()

    /// Syncs a directory, which may be open for inspection only. Blocks.
    static func sync(_ directory: OpenFile) throws(SystemError) {
        try syncs.run(directory.status().key) { () throws(SystemError) in
            try OpenFile.syncDirectory(".", in: directory)
        }
    }

    /// Syncs a directory with this key, which most likely is open for reading. Blocks.
    static func sync(_ directory: OpenFile, _ key: FileStatus.Key) throws(SystemError) {
        try syncs.run(key) { () throws(SystemError) in try directory.syncNamesIfPossible() }
    }
}
