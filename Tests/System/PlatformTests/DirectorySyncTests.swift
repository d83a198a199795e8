import Glibc
import TestSupport
import Testing

@testable import Platform

/// The sync of the names in a directory.
@Suite(.watchdog) struct DirectorySyncTests {
    @Test func `A directory that is open for inspection only, or that cannot be synced, is no error`() throws {
        let scratch = try Scratch()
        for path in [scratch.path, "/proc"] {
            try OpenFile(path, .directory).syncNamesIfPossible()
            try OpenFile(placeAt: path, isDirectory: true, noMagicLinks: true).syncNamesIfPossible()
        }
        #expect(throws: SystemError(code: EINVAL)) { try OpenFile("/proc", .directory).syncNames() }
    }
}
