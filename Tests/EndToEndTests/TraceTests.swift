import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// The traces that the service records, and the command that shows them.
@Suite(.watchdog) struct TraceTests {
    private let place = Place()
    private var file: String { place.directory + "/trace" }

    @Test func `A trace contains the session without secrets, as a timeline and as a page`() async throws {
        let secrets = ["Tq7-one", "Tq7-two"]
        let url = try {
            let (service, caller) = try place.service(["--trace", file])
            try caller.call("reference/putData", #"{"reference":"gs://default-bucket/a/b","text":"hello","wait":true}"#)
            let url = try caller.call("reference/downloadURL", #"{"reference":"gs://default-bucket/a/b"}"#)["url"]?
                .string
            _ = try caller.refusal("reference/getMetadata", #"{"reference":"gs://default-bucket/none"}"#)
            for secret in secrets {
                _ = try caller.refusal("auth/setToken", #"{"token":"\#(secret)","kind":"\#(secret)"}"#)
            }
            caller.wire.endInput()
            #expect(try service.waitForExit() == 0)
            return try #require(url)
        }()
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let written = try String(contentsOfFile: file, encoding: .utf8)
        let token = try #require(url.split(separator: "token=").last)
        for secret in secrets + [String(token)] { #expect(!written.contains(secret)) }
        #expect(written.contains("token=(…)") && written.hasSuffix("\"ended\":true}\n"))

        let told = await Command(ServiceProcess.program, ["trace", file]).run()
        #expect(told.status == 0)
        for part in [
            "→ 1 reference/putData  gs://default-bucket/a/b  text hello", "← 3 reference/getMetadata", "objectNotFound",
            "└ disconnected", "success  upload",
        ] {
            #expect(told.text.contains(part), "\(part)")
        }
        let page = place.directory + "/page.html"
        #expect(await Command(ServiceProcess.program, ["trace", file, "--html", page]).run().status == 0)
        let html = try String(contentsOfFile: page, encoding: .utf8)
        #expect(
            html.hasPrefix("<!DOCTYPE html>") && html.contains("gs://default-bucket/a/b")
                && !html.contains("src="))
    }

    @Test func `A trace has the states and the retries of tasks that no client observes`() throws {
        let film = place.directory + "/film", tree = place.directory + "/tree"
        try Data(count: 3 << 20).write(to: URL(filePath: film))
        try FileManager.default.createDirectory(atPath: tree, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: film, toPath: tree + "/film")
        try Data("x".utf8).write(to: URL(filePath: tree + "/note"))
        do {
            let (service, caller) = try place.service(["--harness", "--trace", file])
            try caller.call("harness/clock", #"{"at":"2026-01-01T00:00:00Z"}"#)
            for (name, method, content) in [
                ("file", "putFile", #""file":"\#(film)""#), ("waits", "putData", #""text":"x","wait":true"#),
                ("tree", "putDirectory", #""directory":"\#(place.directory)/tree""#),
            ] {
                let operation = name == "waits" ? "whole" : "send"
                try caller.call("harness/arm", #"{"on":"\#(operation)","do":{"fail":{"httpStatus":503}}}"#)
                caller.say("reference/\(method)", #"{"reference":"gs://b/\#(name)",\#(content)}"#)
                try caller.call("harness/settled")
                try caller.call("harness/clock", #"{"advance":100}"#)
                try caller.call("harness/settled")
            }
            try caller.call("reference/putData", #"{"reference":"gs://b/fast","text":"x","wait":true}"#)
            try caller.call("reference/deleteAll", #"{"reference":"gs://b","everything":true,"wait":true}"#)
            caller.wire.endInput()
            #expect(try service.waitForExit() == 0)
        }
        var states: [String: [String]] = [:]
        for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
            guard let task = try JSON(parsing: String(line))["task"], let name = task["reference"]?["fullPath"]?.string,
                let kind = task["kind"]?.string, let state = task["state"]?.string
            else { continue }
            let status = (task["retry"]?["error"]?["data"]?["httpStatus"]?.text).map { " after \($0)" } ?? ""
            if states[name]?.last != "\(kind) \(state)\(status)" {
                states[name, default: []].append("\(kind) \(state)\(status)")
            }
        }
        let retried = ["upload running", "upload running after 503", "upload running", "upload success"]
        #expect(states["file"] == retried && states["waits"] == retried)
        // A transfer of a folder is traced from its first retry on.
        #expect(states["tree/film"] == Array(retried.dropFirst()) && states["tree/note"] == nil)
        #expect(states["tree"] == ["folder queued", "folder running", "folder success"])
        #expect(states["fast"] == ["upload running", "upload success"])
        #expect(states[""] == ["folder queued", "folder running", "folder success"])
    }

    @Test func `The id of an upload of the gateway, which is its session, is in no trace`() async throws {
        let live = try LiveGateway(["--trace", file], at: place)
        let url = try await live.client.start("x")
        let id = try #require(url.firstMatch(of: /upload_id=([-\w]+)/)?.1)
        #expect(try await live.client.command(url, "upload, finalize", "hello").status == 200)
        try live.end()
        let written = try String(contentsOfFile: file, encoding: .utf8)
        #expect(written.contains(#""task":"gateway-1""#) && !written.contains(id))
    }

    @Test func `trace --follow prints lines until the service ends`() async throws {
        try await onThread { [place, file] in
            let (service, caller) = try place.service(["--trace", file])
            try caller.call("service/ping")
            let follower = try ServiceProcess(["trace", file, "--follow", "--json"])
            let lines = WireClient(reading: follower.output, writing: follower.input)
            while let line = try lines.next(), line["kind"] != "answer" {}
            // Now it waits for more.
            try caller.call("service/status")
            while let line = try lines.next(), line["title"] != "service/status" {}
            service.signal(SIGTERM)
            var last: JSON?
            while let line = try lines.next() { last = line }
            #expect(last?["kind"] == "ended")
            #expect(try follower.waitForExit() == 0)
        }
    }

    @Test func `trace --follow ends by SIGINT and when its stdout is closed`() async throws {
        let script = """
            import os, signal, subprocess, sys
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            def follow(): return subprocess.Popen([sys.argv[1], "trace", sys.argv[2], "--follow"], stdout=subprocess.PIPE)
            one, other = follow(), follow()
            for each in one, other: each.stdout.readline()
            one.send_signal(signal.SIGINT)
            other.stdout.close()
            print(one.wait(60), other.wait(60))
            """
        try await onThread { [place, file] in
            let (service, caller) = try place.service(["--trace", file])
            try caller.call("service/ping")
            let outcome = Command("python3", ["-c", script, ServiceProcess.program, file]).runHere()
            #expect(outcome.text == "-2 -13\n")
            withExtendedLifetime(service) {}
        }
    }

    @Test func `The service does not start if the trace file cannot be written`() async {
        for path in ["/", place.directory + "/none/trace", "/dev/full"] {
            let told = await Command(
                ServiceProcess.program, ["serve", "--root", place.root, "--trace", path], withErrors: true
            ).run()
            #expect(told.status == 1 && told.text.contains("no trace can be written to \(path): "))
        }
    }

    @Test func `If the trace file cannot grow, the trace ends and the service continues`() throws {
        // Half a mebibyte is enough for the service's own files, and not for the trace.
        let (service, caller) = try place.service(["--trace", file], setUp: "ulimit -f 1024")
        let pad = String(repeating: "ab ", count: 660)
        for _ in 0..<600 { _ = try caller.refusal("service/ping", #"{"pad":"\#(pad)"}"#) }
        // The trace may lag behind the messages.
        try service.waitForLog("the trace cannot be written to \(file)")
        caller.wire.endInput()
        #expect(try service.waitForExit() == 0)
        #expect(service.logged.components(separatedBy: "the trace cannot be written to \(file)").count == 2)
    }

    @Test func `trace refuses a file that is not a trace`() async throws {
        try Data("hello\n".utf8).write(to: URL(filePath: file))
        for (path, reason, status) in [
            (file, "line 1 is no JSON", 1), ("/none", "/none cannot be read", 1), ("/", "is a directory", 64),
            ("-", "is no trace", 1),
        ] {
            let told = await Command(ServiceProcess.program, ["trace", path], withErrors: true).run()
            #expect(told.status == status && told.text.contains(reason), "\(told.text)")
        }
    }
}
