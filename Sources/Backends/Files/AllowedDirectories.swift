import CSystem
import Glibc
import Storage

/// Directories that local files must be in.
///
/// A path is not looked at, it is followed: what counts is where the descriptor that it leads to really is. So links
/// that stay inside are as good as any, and nothing can be swapped between the check and the use.
struct AllowedDirectories: Sendable {
    /// Where they were when the program started, with a slash at the end. Bytes, as strings take for equal what files do not.
    private let prefixes: [[UInt8]]
    private let participle: String
    private let flag: String

    init(_ directories: [String], _ participle: String, _ flag: String) throws(AllowedPlaces.Unusable) {
        (self.participle, self.flag) = (participle, flag)
        var prefixes: [[UInt8]] = []
        for directory in directories {
            do throws(SystemError) {
                prefixes.append(try Self.location(ofDirectory: directory))
            } catch {
                let why = error.code == ENOSYS ? "this needs Linux 5.6" : error.reason
                throw AllowedPlaces.Unusable(message: "\(flag) \(directory) cannot be used: \(why)")
            }
        }
        self.prefixes = prefixes
    }

    /// What the path leads to, found but not opened. Whatever is outside, there or not, is refused alike. `file` is
    /// the one that it is for, where that is to be made in the directory at the path.
    func find(
        _ path: String, directoryOf file: String? = nil, reason: (SystemError) -> StorageError
    ) throws(StorageError) -> OpenFile {
        do throws(SystemError) {
            let found = try OpenFile(placeAt: path, file == nil ? 0 : O_DIRECTORY, noMagicLinks: true)
            if holds(try Self.location(of: found, isDirectory: file != nil)) { return found }
        } catch {
            if wouldHold(path) { throw reason(error) }
        }
        let file = file ?? path
        var error = StorageError(
            .unauthorized, "File \(file) may not be \(participle): it is in no directory that \(flag) names.")
        error.file = file
        throw error
    }

    private func holds(_ location: [UInt8]) -> Bool { prefixes.contains { location.starts(with: $0) } }

    /// Whether the way to what cannot be found ends in one of them.
    private func wouldHold(_ path: String) -> Bool {
        var path = path
        // So that links in a circle come to an end.
        for _ in 0..<1000 {
            do throws(SystemError) {
                return holds(try Self.location(ofDirectory: path))
            } catch {
                let parent = Self.parent(of: path)
                let link = destination(ofLink: path).map { String(decoding: $0, as: UTF8.self) }
                path = link.map { $0.utf8.first == UInt8(ascii: "/") ? $0 : "\(parent)/\($0)" } ?? parent
            }
        }
        return false
    }

    private static func location(ofDirectory path: String) throws(SystemError) -> [UInt8] {
        try location(of: OpenFile(placeAt: path, O_DIRECTORY, noMagicLinks: true), isDirectory: true)
    }

    /// That of a directory ends with a slash.
    private static func location(of file: OpenFile, isDirectory: Bool) throws(SystemError) -> [UInt8] {
        guard let location = destination(ofLink: file.pathInProc) else { throw .last }
        let slash = UInt8(ascii: "/")
        return isDirectory && location.last != slash ? location + [slash] : location
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else { return "/" }
        return String(decoding: path.utf8[..<slash], as: UTF8.self)
    }
}
