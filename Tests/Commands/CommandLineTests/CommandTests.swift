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

    @Test(arguments: [
        ("-q help", "storage-rpc: "), ("--json help put", "storage-rpc put"), ("--root help help ls", "storage-rpc ls"),
        ("--engine gcs -q help storage", "Where objects are"),
    ])
    func `Flags may stand before help, too`(words: String, start: String) throws {
        guard case .help(let page) = try Command(words.split(separator: " ").map(String.init)) else {
            Issue.record("no help")
            return
        }
        #expect(page.hasPrefix(start))
    }

    @Test(arguments: ["version", "-q version", "--version", "--json version"])
    func `The version is a command, too`(words: String) throws {
        guard case .version = try Command(words.split(separator: " ").map(String.init)) else {
            Issue.record("no version")
            return
        }
        #expect(error("version 1") == "version takes no \"1\"; try --help")
    }

    @Test func `The value of a flag is not read as a command, and without a command the flags are those of a service`()
        throws
    {
        for (words, root) in [
            (["--root", "ls"], "ls"), (["--root", "put", "--harness"], "put"), (["--root=cp"], "cp"),
            (["--root", "help"], "help"),
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
        ("ls -lx", "unknown flag -x in -lx; ls has -l -h -r -q; try: storage-rpc help ls"),
        ("rm -rf a", "unknown flag -f in -rf; rm has -r -y -p -v -q; did you mean -y?"),
        ("put -rp 4 a b", "-p needs a value, so it cannot be part of -rp: give it by itself"),
        ("put -q4 a b", "-q takes no value; try --help"), ("put -p0 a b", "-p needs a number from 1 to 64, not \"0\""),
        ("put -p4 a b", "none"), ("sync -r a gs://b", "unknown flag -r; sync takes all that is below, anyway"),
        ("put -recursive a b", "unknown flag -recursive; did you mean --recursive?"),
        ("-q pu a b", "unknown command \"pu\"; did you mean put?"),
        ("--engine gcs -p 4 lss", "unknown command \"lss\"; did you mean ls?"),
        ("--root cp upload a", "unknown command \"upload\"; did you mean put?"),
        ("--trace lss --socket", "--socket needs a PATH; try --help"),
        ("sl", "unknown command \"sl\"; did you mean ls?"),
    ])
    func `One letter suggests no flag, and letters in another order one`(words: String, message: String) {
        #expect(error(words) == message)
    }

    @Test(arguments: [
        ("put x s3://b/y", "s3://b/y names an object or a bucket of S3: add --engine s3; for this disk write gs://b/y"),
        (
            "rm -r s3://b/y/*",
            "s3://b/y/* names an object or a bucket of S3: add --engine s3; for this disk write gs://b/y/*"
        ),
        (
            "--engine gcs ls s3://b",
            "s3://b names an object or a bucket of S3: add --engine s3; for --engine gcs write gs://b"
        ),
        (
            "ls --exact s3://b/",
            "s3://b/ names an object or a bucket of S3: add --engine s3; for this disk write gs://b/"
        ),
        ("ls --bucket s3://b", "s3://b names an object or a bucket of S3: add --engine s3; for this disk write gs://b"),
        (
            "mcp --within s3://b",
            "s3://b names an object or a bucket of S3: add --engine s3; for this disk write gs://b"
        ),
        (
            "ls https://storage.googleapis.com/b/y",
            "https://storage.googleapis.com/b/y names an object of Google Cloud Storage: add --engine gcs; "
                + "for this disk write gs://b/y"
        ),
        (
            "get https://firebasestorage.googleapis.com/v0/b/b/o/d%2Fy?alt=media .",
            "https://firebasestorage.googleapis.com/v0/b/b/o/d%2Fy?alt=media names an object of Firebase Storage: "
                + "add --engine firebase; for this disk write gs://b/d/y"
        ),
        (
            "cat https://b.s3.eu-west-1.amazonaws.com/y --engine firebase",
            "https://b.s3.eu-west-1.amazonaws.com/y names an object of Amazon S3: add --engine s3; "
                + "for --engine firebase write gs://b/y"
        ),
        (
            "stat https://minio.example/v0/b/b/o/y",
            "https://minio.example/v0/b/b/o/y names an object of another server: add --engine and --endpoint; "
                + "for this disk write gs://b/y"
        ),
        (
            "ls --exact http://192.168.1.5:80/v0/b/b/o/y",
            "http://192.168.1.5:80/v0/b/b/o/y names an object of another server: add --engine and --endpoint; "
                + "for this disk write gs://b/y"
        ),
    ])
    func `A URL of another storage than the engine's is refused with the flag to add`(words: String, message: String) {
        #expect(error(words) == message)
    }

    @Test(arguments: [
        "ls gs://b/y", "ls http://localhost:9199/v0/b/b/o/y", "ls https://127.0.0.1:1/v0/b/b/o/y",
        "ls http://192.168.1.5:80/v0/b/b/o/y --http 192.168.1.5:80",
        "ls http://minio:9000/b/y --engine s3 --endpoint http://minio:9000 --allow-insecure",
        "put x s3://b/y --engine s3", "ls --socket s s3://b",
        "ls --engine gcs https://storage.googleapis.com/b/y", "ls --exact https://localhost/v0/b/b/o/y",
        "serve --engine s3 --bucket s3://b",
    ])
    func `A URL that the engine reaches is a reference`(words: String) { #expect(error(words) == "none") }

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
