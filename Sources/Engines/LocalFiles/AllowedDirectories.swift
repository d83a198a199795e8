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
    private let participle: String
    private let flag: String

    init(_ directories: [String], _ participle: String, _ flag: String) throws(FileAccessPolicy.InvalidDirectory) {
        (self.participle, self.flag) = (participle, flag)
        var aliases: [(alias: ConfinedPathResolver.Names, location: ConfinedPathResolver.Names)] = []
        for directory in directories {
            do throws(SystemError) {
                let found = try OpenFile(placeAt: directory, isDirectory: true, noMagicLinks: true)
                guard let location = found.names else { throw .last }
                aliases += [(location, location), (try Self.absolute(directory), location)]
            } catch {
                let why = error == .unsupported ? "this needs Linux 5.6" : error.reason
                throw FileAccessPolicy.InvalidDirectory(message: "\(flag) \(directory) cannot be used: \(why)")
            }
        }
        self.aliases = aliases
        locations = aliases.map(\.location)
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
            .unauthorized, "File \(file) may not be \(participle): it is in no directory that \(flag) names."
        ).with(\.file, file)
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
        self.reading = reading.isEmpty ? nil : try AllowedDirectories(reading, "read", "--allow-read")
        self.writing = writing.isEmpty ? nil : try AllowedDirectories(writing, "written", "--allow-write")
    }

    /// Throws `unauthorized` if the files of a directory may not be read. Blocks.
    package func checkReading(directory path: String) throws(StorageError) {
        _ = try reading?.find(path) { StorageError(.unknown, "Directory \(path) cannot be read: \($0.reason).") }
    }

    private init(reading: AllowedDirectories?, writing: AllowedDirectories?) {
        (self.reading, self.writing) = (reading, writing)
    }
}
