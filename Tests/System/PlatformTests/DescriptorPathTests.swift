import Glibc
import Platform
import TestSupport
import Testing

/// Paths that lead to descriptors of this process.
@Suite(.watchdog) struct DescriptorPathTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    @Test func `A path and links to it lead to the number of a descriptor`() throws {
        let (link, chain) = (scratch.path + "/link", scratch.path + "/chain")
        #expect(symlink("/dev/stdout", link) == 0 && symlink("./link", chain) == 0)
        let table: [(String, Int32)] = [
            ("/dev/stdin", 0), ("/dev/stdout", 1), ("/dev/stderr", 2), ("/dev/fd/63", 63), ("/proc/self/fd/7", 7),
            ("/proc/\(getpid())/fd/7", 7), ("/dev/../dev//fd/1", 1), (link, 1), (chain, 1),
        ]
        for (path, number) in table { #expect(Descriptor.number(at: path) == number, "\(path)") }
    }

    @Test func `Other paths lead to no descriptor`() throws {
        let (file, link) = (try scratch.file("1", []), scratch.path + "/link")
        #expect(symlink(link, link) == 0)
        let others = [
            file, link, "", "/", "1", scratch.path, "/dev/null", "/dev/fd", "/dev/fd/", "/proc/1/fd/1", "/none/1",
        ]
        for path in others { #expect(Descriptor.number(at: path) == nil, "\(path)") }
    }

    @Test func `Only a descriptor that the program was started with is an output`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(
            Descriptor.inherited(ends[1], for: .writing) != nil && Descriptor.inherited(ends[0], for: .reading) != nil)
        #expect(
            Descriptor.inherited(ends[0], for: .writing) == nil && Descriptor.inherited(ends[1], for: .reading) == nil)
        #expect(fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0 && Descriptor.inherited(ends[1], for: .writing) == nil)
        #expect(Descriptor.inherited(1 << 20, for: .writing) == nil)
    }
}
