/// Where files of this machine may be read and written: wherever this user may, unless directories were named.
public struct FileAccessPolicy: Sendable {
    package let reading: AllowedDirectories?
    package let writing: AllowedDirectories?

    public static let everywhere = FileAccessPolicy(reading: nil, writing: nil)

    /// Why a directory cannot be allowed, in a sentence that names it.
    public struct InvalidDirectory: Error { public var message: String }

    /// Finds out where the directories are. Without any of a kind, all of that kind is allowed.
    public init(reading: [String], writing: [String]) throws(InvalidDirectory) {
        self.reading = reading.isEmpty ? nil : try AllowedDirectories(reading, "read", "--allow-read")
        self.writing = writing.isEmpty ? nil : try AllowedDirectories(writing, "written", "--allow-write")
    }

    private init(reading: AllowedDirectories?, writing: AllowedDirectories?) {
        (self.reading, self.writing) = (reading, writing)
    }
}
