/// The directories that the local files of a client must be in, besides those of the service.
public struct LocalConfinement: Codable, Equatable, Sendable {
    /// Nil for the files of all directories, empty for no file.
    public var reading: [Directory]?
    public var writing: [Directory]?

    public init(reading: [Directory]? = nil, writing: [Directory]? = nil) {
        (self.reading, self.writing) = (reading, writing)
    }

    /// A directory at the moment when the client named it.
    public struct Directory: Codable, Equatable, Sendable {
        /// The absolute path as the client wrote it, which may contain links.
        public var path: String
        /// The path without links.
        public var location: String

        public init(path: String, location: String) { (self.path, self.location) = (path, location) }

        public static func == (a: Self, b: Self) -> Bool {
            a.path.utf8.elementsEqual(b.path.utf8) && a.location.utf8.elementsEqual(b.location.utf8)
        }
    }
}
