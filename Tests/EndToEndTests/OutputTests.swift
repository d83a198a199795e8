import Foundation
import TestSupport
import Testing

/// Objects that commands write to descriptors, pipes and devices, and sources that are no files.
@Suite(.watchdog) final class OutputTests {
    private let place = Place()

    init() async throws {
        #expect(await sh("echo hello > a; $S put -q a a").status == 0)
    }

    private func sh(_ line: String) async -> (status: Int32, text: String) { await place.sh(line) }

    @Test(arguments: ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
    func `An object that is got to stdout by a path is on stdout`(path: String) async throws {
        let before = try FileManager.default.attributesOfItem(atPath: "/dev/stdout")[.type] as? FileAttributeType
        #expect(await sh("ln -s /dev/stdout link; $S get -q a \(path) > file; cat file") == (0, "hello\n"))
        #expect(await sh("$S get -q a \(path) | cat") == (0, "hello\n"))
        #expect(await sh("echo before > file; $S get -q a \(path) >> file; cat file") == (0, "before\nhello\n"))
        #expect(await sh("test -L link").status == 0)
        #expect(try FileManager.default.attributesOfItem(atPath: "/dev/stdout")[.type] as? FileAttributeType == before)
    }

    @Test func `An object is written to the descriptor or the pipe that a person names`() async throws {
        #expect(await sh("$S get -q a /dev/fd/5 5> file; cat file") == (0, "hello\n"))
        #expect(
            await sh("$S get -q a >(cat > file; touch done); await '[ -e done ]'; cat file") == (0, "hello\n")
        )
        #expect(
            await sh("mkfifo pipe; cat pipe > file & $S get -q a pipe; wait; cat file; test -p pipe") == (0, "hello\n"))
        #expect(await sh("$S get -q a /dev/null; test -c /dev/null").status == 0)
    }

    @Test func `A command waits for a pipe without a reader until a signal comes`() async throws {
        let line = """
            put a; await '! [ -e $R/socket ]'; mkfifo pipe
            $S get -q a pipe & await '[ -e $R/socket ]'; kill -TERM $!; wait $!
            """
        #expect(await sh(line).status == 128 + SIGTERM)
        #expect(await sh("test -p pipe").status == 0)
    }

    @Test func `Other places of the system are refused and do not change`() async throws {
        let device = "is neither a file nor a pipe nor a terminal; an object is written to no other thing"
        let closed = "leads to a descriptor that is not open for writing"
        for (path, why) in [
            ("/dev/zero", device), ("/dev/full", device), ("/dev/fd/9", closed), ("/dev/stdin", closed),
            ("/proc/self/comm", "is below /proc"), ("/proc/new", "is below /proc"), ("/dev/new", "is below /dev"),
            ("/dev/", "is below /dev"),
        ] {
            let refused = await sh("$S get -q a \(path) < a")
            #expect(refused.status == 1 && refused.text.contains("\(path)") && refused.text.contains(why), "\(refused)")
        }
        #expect(await sh("test -c /dev/zero && test -c /dev/full").status == 0)
    }

    @Test func `Standard input has other names, and other descriptors are no source`() async throws {
        #expect(await sh("echo in | $S put -q /dev/stdin b && $S cat -q b") == (0, "in\n"))
        #expect(await sh("$S put -q /dev/fd/0 b < a && $S cat -q b") == (0, "hello\n"))
        let refused = await sh("$S put -q /dev/fd/5 c 5< a")
        #expect(refused.status == 1 && refused.text.contains("/dev/fd/5 leads to an open descriptor"))
        #expect(
            await sh("mkfifo in; $S put -q in c").text.contains("in is a pipe: COMMAND | storage-rpc put - c uploads"))
        #expect(await sh("$S stat c").status == 1)
    }

    @Test func `A service does not take its own descriptors for those of a client`() async throws {
        #expect(
            await sh("$S serve --shared > out < a 2>&1 & await '[ -S root/storage-rpc/socket ]'").status == 0)
        #expect(
            await sh("$S get -q a /dev/stdout; echo more | $S put -q /dev/stdin b; $S cat -q b") == (0, "hello\nmore\n")
        )
        let read = await sh(
            #"$S call reference/putFile '{"reference":"gs://default-bucket/c","file":"/dev/stdin","wait":true}'"#)
        #expect(read.status == 1 && read.text.contains("/dev/stdin leads to an open descriptor"))
        let written = await sh(
            #"$S call reference/writeToFile '{"reference":"gs://default-bucket/a","file":"/dev/stdout","wait":true}'"#)
        #expect(written.status == 1 && written.text.contains("/dev/stdout is below /dev"))
        #expect(await sh("$S call service/stop; ls -l /dev/stdout | cut -c 1").text.hasSuffix("l\n"))
    }
}
