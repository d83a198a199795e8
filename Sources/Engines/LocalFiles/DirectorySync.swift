import Platform

/// Makes the names in directories durable. Threads that change the same directory share the work.
enum DirectorySync {
    private static let syncs = SharedSync<FileStatus.Key>()

    /// Syncs a directory, which may be open for inspection only. Blocks.
    ///
    /// - Parameter key: that of the directory; nil to look.
    static func sync(_ directory: OpenFile, _ key: FileStatus.Key? = nil) throws(SystemError) {
        let key = if let key { key } else { try directory.status().key }
        try syncs.run(key) { () throws(SystemError) in
            do throws(SystemError) { try directory.syncNames() } catch {
                // Another descriptor can be synced, unless the directory is not readable.
                guard error == .notOpen else { throw error }
                try OpenFile.syncDirectory(".", in: directory)
            }
        }
    }
}
