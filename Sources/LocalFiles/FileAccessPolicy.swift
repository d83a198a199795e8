/// The directories in which clients may read and write files. Without any, the user's own permissions decide.
public struct FileAccessPolicy: Sendable {
    package let reading: AllowedDirectories?
    package let writing: AllowedDirectories?

    public static let everywhere = FileAccessPolicy(reading: nil, writing: nil)

    /// An allowed directory that cannot be used, with a sentence that names it.
    public struct InvalidDirectory: Error { public var message: String }

    /// Resolves the directories. An empty list allows all directories.
    public init(reading: [String], writing: [String]) throws(InvalidDirectory) {
        self.reading = reading.isEmpty ? nil : try AllowedDirectories(reading, "read", "--allow-read")
        self.writing = writing.isEmpty ? nil : try AllowedDirectories(writing, "written", "--allow-write")
    }

    private init(reading: AllowedDirectories?, writing: AllowedDirectories?) {
        (self.reading, self.writing) = (reading, writing)
    }
}
