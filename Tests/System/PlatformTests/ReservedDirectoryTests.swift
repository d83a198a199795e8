import Glibc
import Platform
import TestSupport
import Testing

@Suite(.watchdog) struct ReservedDirectoryTests {
    private let directory: Scratch

    init() throws { directory = try Scratch() }

    @Test("A directory is covered while a directory above it is reserved, also one that was looked at before")
    func reservation() throws {
        let below = directory.path + "/above/a/b"
        try FileSystem.makeDirectories(below)
        let place = try OpenFile(placeAt: below, isDirectory: true, noMagicLinks: true)
        let elsewhere = try reserved("elsewhere")
        #expect(!ReservedDirectory.covers(place, at: place.locationBytes))
        do {
            let one = try reserved("above")
            #expect(ReservedDirectory.covers(place, at: place.locationBytes))
            withExtendedLifetime(one) {}
        }
        #expect(!ReservedDirectory.covers(place, at: place.locationBytes))
        withExtendedLifetime(elsewhere) {}
    }

    @Test("A directory that is moved below a reserved one is covered") func move() throws {
        let own = try reserved("own")
        try FileSystem.makeDirectories(directory.path + "/other/a")
        let place = try OpenFile(placeAt: directory.path + "/other/a", isDirectory: true, noMagicLinks: true)
        #expect(!ReservedDirectory.covers(place, at: place.locationBytes))
        try #require(rename(directory.path + "/other", directory.path + "/own/other") == 0)
        #expect(ReservedDirectory.covers(place, at: place.locationBytes))
        withExtendedLifetime(own) {}
    }

    private func reserved(_ name: String) throws -> ReservedDirectory {
        try FileSystem.makeDirectories("\(directory.path)/\(name)")
        return try ReservedDirectory(OpenFile("\(directory.path)/\(name)", .directory))
    }
}
