import Platform
import Storage

/// The directories that local files must be in.
///
/// `ConfinedPathResolver` opens a path without revealing anything outside the directories. The location of the opened
/// descriptor decides, not the text of the path: links that stay inside are allowed, and no file can be exchanged
/// between the check and the use.
package struct AllowedDirectories: Sendable {
    /// The canonical locations at the start of the program.
    private let locations: [ConfinedPathResolver.Names]
    /// The names under which the directories were given, with their locations. A path may begin with such a name even
    /// if it contains links.
    private let aliases: [(alias: ConfinedPathResolver.Names, location: ConfinedPathResolver.Names)]
    private let use: Use
    /// The flag or the param that names the directories.
    private let name: String

    /// The files that the service keeps itself, below its root, and that no client names.
    package static let own = AllowedDirectories([], .reading, isOwn: true)
    let isOwn: Bool

    /// What the files are used for.
    enum Use: String { case reading = "read", writing = "written" }

    init(_ directories: [String], _ use: Use) throws(FileAccessPolicy.InvalidDirectory) {
        let flag = use == .reading ? "--allow-read" : "--allow-write"
        var aliases: [(alias: ConfinedPathResolver.Names, location: ConfinedPathResolver.Names)] = []
        for directory in directories {
            do throws(SystemError) {
                let found = try OpenFile(placeAt: directory, isDirectory: true, noMagicLinks: true)
                guard let location = found.names else { throw .last }
                aliases += [(location, location), (try Self.absolute(directory), location)]
            } catch {
                throw FileAccessPolicy.InvalidDirectory(message: "\(flag) \(directory) \(Self.unusable(error))")
            }
        }
        (self.aliases, self.use, name, isOwn) = (aliases, use, flag, false)
        locations = aliases.map(\.location)
    }

    private static func unusable(_ error: SystemError) -> String {
        "cannot be used: \(error == .unsupported ? "this needs Linux 5.6" : error.reason)"
    }

    /// The directories of a confined client.
    private init(_ directories: [LocalConfinement.Directory], _ use: Use, isOwn: Bool = false) {
        let named = directories.map { (path: Array($0.path.utf8), location: Array($0.location.utf8).names) }
        aliases = named.flatMap { [($0.location, $0.location), ($0.path.names.filter { $0 != .itself }, $0.location)] }
        locations = named.map(\.location)
        (self.use, name, self.isOwn) = (use, use == .reading ? "allowRead" : "allowWrite", isOwn)
    }

    /// The directories that both the service and a client permit; nil stands for everything.
    static func narrowed(
        _ service: AllowedDirectories?, to client: [LocalConfinement.Directory]?, _ use: Use
    ) -> AllowedDirectories? {
        guard let client else { return service }
        let own = AllowedDirectories(client, use)
        return service.map { AllowedDirectories($0, and: own) } ?? own
    }

    /// The intersection of two sets of directories.
    private init(_ a: AllowedDirectories, and b: AllowedDirectories) {
        locations =
            a.locations.filter { one in b.locations.contains { one.starts(with: $0) } }
            + b.locations.filter { one in a.locations.contains { one.starts(with: $0) } }
        (aliases, use, name, isOwn) = (a.aliases + b.aliases, b.use, b.name, false)
    }

    private static func absolute(_ path: String) throws(SystemError) -> ConfinedPathResolver.Names {
        let names = Array(path.utf8).names.filter { $0 != .itself }
        if path.utf8.first == UInt8(ascii: "/") { return names }
        guard let start = try OpenFile(placeAt: ".", isDirectory: true, noMagicLinks: true).names else { throw .last }
        return start + names
    }

    /// Resolves the path without opening the file for reading or writing. Existing and missing files outside the
    /// directories are refused alike. `file` is the file to be created in the directory at the path.
    func find(
        _ path: String, directoryOf file: String? = nil, reason: (SystemError) -> StorageError
    ) throws(StorageError) -> OpenFile {
        do throws(ConfinedPathResolver.Failure) {
            let found = try follow(file == nil ? path : path + "/")
            if let names = found.names, locations.contains(where: { names.starts(with: $0) }) { return found }
        } catch {
            if case .inside(let error) = error { throw reason(error) }
        }
        let file = file ?? path
        throw StorageError(
            .unauthorized, "File \(file) may not be \(use.rawValue): it is in no directory that \(name) names."
        ).with(\.file, file)
    }

    /// The path of a directory without links. `refusal` makes the error for a reason without its subject.
    static func directory(
        _ path: String, in allowed: AllowedDirectories?, _ refusal: (String) -> StorageError
    ) throws(StorageError) -> String {
        let found: OpenFile
        if let allowed {
            found = try allowed.find(path + "/") { refusal(unusable($0)) }
        } else {
            do throws(SystemError) {
                found = try OpenFile(placeAt: path, isDirectory: true, noMagicLinks: true)
            } catch {
                throw refusal(unusable(error))
            }
        }
        guard let bytes = found.locationBytes, let location = String(validating: bytes, as: UTF8.self) else {
            throw refusal("cannot be used: its location is not UTF-8, or unknown")
        }
        return location
    }

    private func follow(_ path: String) throws(ConfinedPathResolver.Failure) -> OpenFile {
        guard path.utf8.first == UInt8(ascii: "/") else { throw .outside }
        let names = Array(path.utf8).names
        let begun = aliases.filter { names.starts(with: $0.alias) }.max { $0.alias.count < $1.alias.count }
        return try ConfinedPathResolver.find(
            names.dropFirst(begun?.alias.count ?? 0), from: begun?.location ?? [], in: locations)
    }
}

/// The directories in which clients may read and write files. Without any, only the user's own permissions count.
package struct FileAccessPolicy: Sendable {
    package let reading: AllowedDirectories?
    package let writing: AllowedDirectories?

    package static let everywhere = FileAccessPolicy(reading: nil, writing: nil)

    /// An allowed directory that cannot be used, with a sentence that names it.
    package struct InvalidDirectory: Error { package var message: String }

    /// Resolves the directories. An empty list allows all directories.
    package init(reading: [String], writing: [String]) throws(InvalidDirectory) {
        self.reading = reading.isEmpty ? nil : try AllowedDirectories(reading, .reading)
        self.writing = writing.isEmpty ? nil : try AllowedDirectories(writing, .writing)
    }

    /// Throws `unauthorized` if the files of a directory may not be read. Blocks.
    package func checkReading(directory path: String) throws(StorageError) {
        _ = try reading?.find(path) { StorageError(.unknown, "Directory \(path) cannot be read: \($0.reason).") }
    }

    /// The directories that both the service and a client allow.
    package func narrowed(to client: LocalConfinement?) -> FileAccessPolicy {
        guard let client else { return self }
        return FileAccessPolicy(
            reading: .narrowed(reading, to: client.reading, .reading),
            writing: .narrowed(writing, to: client.writing, .writing))
    }

    /// Finds the directories of a client. Throws `unauthorized` for one that the service does not allow, whether or not
    /// it exists. Blocks.
    func confinement(reading read: [String]?, writing written: [String]?) throws(StorageError) -> LocalConfinement {
        LocalConfinement(
            reading: try read.map { paths throws(StorageError) in try Self.find(paths, in: reading, "allowRead") },
            writing: try written.map { paths throws(StorageError) in try Self.find(paths, in: writing, "allowWrite") })
    }

    private static func find(
        _ paths: [String], in allowed: AllowedDirectories?, _ param: String
    ) throws(StorageError) -> [LocalConfinement.Directory] {
        try paths.map { path throws(StorageError) in
            let found = try AllowedDirectories.directory(path, in: allowed) { reason in
                .invalidArgument(param, "\(param) \(path) \(reason).")
            }
            return LocalConfinement.Directory(path: path, location: found)
        }
    }

    private init(reading: AllowedDirectories?, writing: AllowedDirectories?) {
        (self.reading, self.writing) = (reading, writing)
    }
}
