import Platform
import Storage

/// Opens the paths of clients, and refuses those that clients may not use: devices, `/proc`, `/sys`, and paths of open
/// descriptors, which are different in the service and in the client.
enum ClientPath {
    enum Failure: Error {
        case system(SystemError)
        /// The reason, as a sentence without its subject.
        case refused(String)
    }

    /// Opens a path for inspection only; a relative one begins at `directory`.
    static func find(
        _ path: String, isDirectory: Bool = false, in directory: OpenFile? = nil
    ) throws(Failure) -> OpenFile {
        let found = try open(path, isDirectory: isDirectory, in: directory)
        try check(found)
        return found
    }

    /// Throws `refused` for a file or a directory that belongs to the system. Returns its location; nil if it is unknown.
    @discardableResult
    static func check(_ found: OpenFile) throws(Failure) -> [UInt8]? {
        let location = found.locationBytes
        if let location, let why = refusal(of: String(decoding: location, as: UTF8.self)) { throw .refused(why) }
        return location
    }

    /// Why the file at a location is refused; nil if it is not.
    static func refusal(of location: String) -> String? {
        systemPlace(location).map { "is below \($0), where a service neither reads nor writes for its clients" }
    }

    /// Opens a directory of any location for reading, which its sync needs; without the permission, for inspection only.
    static func openDirectory(_ path: String) throws(Failure) -> OpenFile {
        if let found = try? OpenFile(directoryAt: path) { return found }
        return try open(path, isDirectory: true)
    }

    /// Opens a path of any location, even of one that `refusal` refuses.
    static func open(
        _ path: String, isDirectory: Bool = false, in directory: OpenFile? = nil
    ) throws(Failure) -> OpenFile {
        do throws(SystemError) {
            return try OpenFile(placeAt: path, isDirectory: isDirectory, in: directory, noMagicLinks: true)
        } catch {
            guard error == .link || isUnknownCall(error) else { throw .system(error) }
            let found = try followed(path, isDirectory, directory)
            guard isUnknownCall(error), systemPlace(path) == nil else {
                throw .refused("leads to an open descriptor of a process, or to one of its directories")
            }
            return found
        }
    }

    /// Linux before 5.6, and old sandboxes, cannot refuse the links of `/proc`.
    private static func isUnknownCall(_ error: SystemError) -> Bool { error == .unsupported || error == .notPermitted }

    private static func followed(
        _ path: String, _ isDirectory: Bool, _ directory: OpenFile?
    ) throws(Failure) -> OpenFile {
        do throws(SystemError) {
            return try OpenFile(placeAt: path, isDirectory: isDirectory, in: directory, noMagicLinks: false)
        } catch {
            throw .system(error)
        }
    }

    /// The system directory that contains the path. `/dev/shm` is an exception, since all users have files there.
    private static func systemPlace(_ path: String) -> String? {
        guard path != "/dev/shm", !path.hasPrefix("/dev/shm/") else { return nil }
        return ["/dev", "/proc", "/sys"].first { path == $0 || path.hasPrefix($0 + "/") }
    }
}
