import CommandLine
import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct CommandTests {
    @Test func `Flags may stand before the command`() throws {
        guard case .client(.put(let files, let target), let options) = try Command(["-q", "put", "a", "b"]) else {
            Issue.record("no put")
            return
        }
        #expect(files == ["a"] && target == "b" && options.isQuiet)
        for words in [["--engine", "gcs", "ls", "x"], ["--engine=gcs", "ls", "x"], ["ls", "x", "--engine", "gcs"]] {
            guard case .client(.ls(["x"]), let options) = try Command(words) else {
                Issue.record("no ls: \(words)")
                continue
            }
            #expect(options.service.engine == .gcs)
        }
        guard case .client(.ls([]), _) = try Command(["--root", "ls", "-lh", "--trace", "ls"]) else {
            Issue.record("no ls")
            return
        }
        guard case .help(let page) = try Command(["--help", "ls"]) else {
            Issue.record("no help")
            return
        }
        #expect(page.hasPrefix("storage-rpc ls"))
    }

    @Test func `The value of a flag is not read as a command, and without a command the flags are those of a service`()
        throws
    {
        for (words, root) in [
            (["--root", "ls"], "ls"), (["--root", "put", "--harness"], "put"), (["--root=cp"], "cp"),
        ] {
            guard case .serve(let options) = try Command(words) else {
                Issue.record("no service: \(words)")
                continue
            }
            #expect(options.root == root)
        }
    }

    @Test func `Errors of a command behind its flags are JSON`() {
        #expect(Command.printsJSON(["--json", "ls"]) && Command.printsJSON(["-q", "ls", "--json"]))
        #expect(!Command.printsJSON(["ls", "--", "--json"]) && !Command.printsJSON(["--json"]))
    }

    private func error(_ words: String) -> String {
        do { _ = try Command(words.split(separator: " ").map(String.init)) } catch {
            return (error as? UsageError)?.message ?? "\(error)"
        }
        return "none"
    }

    @Test(arguments: [
        ("ls --hlep", "unknown flag --hlep; did you mean --help?"),
        ("ls --recusrive", "unknown flag --recusrive; did you mean --recursive?"),
        ("ls -x", "unknown flag -x; try: storage-rpc help ls"),
        ("-x put a b", "unknown flag -x; try: storage-rpc help put"),
        ("-x", "unknown flag -x; try: storage-rpc help serve"),
        ("ls -lx", "unknown flag -lx; try: storage-rpc help ls"),
        ("sl", "unknown command \"sl\"; did you mean ls?"),
    ])
    func `One letter suggests no flag, and letters in another order one`(words: String, message: String) {
        #expect(error(words) == message)
    }

    @Test(arguments: [
        ("--exclude * --include *.js", "--exclude '*' leaves out all that --include '*.js' takes"),
        ("--include *.js --exclude *", "--exclude '*' leaves out all that --include '*.js' takes"),
        ("--include main.js --exclude *.js", "--exclude '*.js' leaves out all that --include main.js takes"),
        ("--include docs/ --exclude docs", "--exclude docs leaves out all that --include docs/ takes"),
        ("--include /a/*.js --exclude **", "--exclude '**' leaves out all that --include '/a/*.js' takes"),
    ])
    func `An exclusion of all that is included is refused with how to write it`(flags: String, message: String) {
        let told = error("put -r d t \(flags)")
        #expect(told.hasPrefix(message) && told.hasSuffix("--include alone takes only what matches it"), "\(told)")
    }

    @Test(arguments: [
        "--include *.js --exclude node_modules/", "--include * --exclude *.js", "--include *.js --exclude main.js",
        "--include ?.js --exclude x.js", "--include [a-z] --exclude a", "--include *.j* --exclude *.js", "--exclude *",
    ])
    func `Other patterns go together`(flags: String) { #expect(error("put -r d t \(flags)") == "none") }
}
