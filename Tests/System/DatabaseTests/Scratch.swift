import Database
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A temporary directory, deleted when it is released.
final class Scratch {
    let directory: String

    init() throws {
        var template = Array("/tmp/database-tests-XXXXXX".utf8CString)
        directory = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    deinit {
        for name in ["a", "a-wal", "a-shm", "a-journal", "a-reserve", "b", "b-wal", "b-shm", "b-journal"] {
            unlink("\(directory)/\(name)")
        }
        rmdir(directory)
    }

    var path: String { directory + "/a" }

    func open(_ name: String = "a", applicationID: Int32 = 0x7465_7374) throws(DatabaseError) -> Database {
        try Database(path: "\(directory)/\(name)", applicationID: applicationID)
    }

    func read(_ name: String = "a") throws -> [UInt8] {
        let file = try #require(fopen("\(directory)/\(name)", "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return bytes
    }

    func write(_ bytes: some Collection<UInt8>, to name: String = "a") throws {
        let file = try #require(fopen("\(directory)/\(name)", "w"))
        let written = fwrite(Array(bytes), 1, bytes.count, file)
        try #require(fclose(file) == 0 && written == bytes.count)
    }
}

/// The error that `body` has to throw.
func databaseError(_ body: () throws -> Void, _ location: SourceLocation = #_sourceLocation) throws -> DatabaseError {
    var found: DatabaseError?
    do { try body() } catch let error as DatabaseError { found = error }
    return try #require(found, "no error was thrown", sourceLocation: location)
}
