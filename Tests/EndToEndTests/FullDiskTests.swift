import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// The program with a root on a disk of 4 MiB, which the test fills.
@Suite(.enabled(if: OwnMounts.areAllowed, "needs to mount"), .watchdog) struct FullDiskTests {
    private let place = Place()

    /// A service that is started once more, on the same disk and for the same client, if it is killed.
    private func services() throws -> (ServiceProcess, Caller) {
        try FileManager.default.createDirectory(atPath: place.root, withIntermediateDirectories: true)
        let twice = #"mount -t tmpfs -o size=4m,mode=700 none \#(place.root) && { "$0" "$@"; exec "$0" "$@"; }"#
        return try place.service(
            ["--log-level", "off"], setUp: #"exec \#(OwnMounts.command) /bin/sh -c '\#(twice)' "$0" "$@""#)
    }

    /// Puts objects until there is no room for another one, however small; returns their names.
    private func fill(_ client: Caller, largest: Int) throws -> [String] {
        var names: [String] = []
        var size = largest
        while size > 100 {
            let name = "\(names.count)"
            let text = repeated("x", size)
            let put = #"{"reference":"gs://b/\#(name)","text":"\#(text)","wait":true}"#
            let error = try client.refusal("reference/putData", put)
            if error == .null {
                names.append(name)
            } else {
                #expect(error["code"]?.number?.int64 == -13013, "\(error)")
                size /= 16
            }
        }
        return names
    }

    @Test(arguments: [60_000, 500_000])
    func `All objects on a full disk can be deleted with one request`(largest: Int) async throws {
        try await onThread {
            let (service, client) = try services()
            try #require(try fill(client, largest: largest).count > 2)
            let end = try client.call("reference/deleteAll", #"{"reference":"gs://b","everything":true,"wait":true}"#)
            #expect(end["state"]?.string == "success", "\(end)")
            try #require(try count(client) == 0)
            try #require(try fill(client, largest: largest).count > 2)
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }

    private func count(_ client: Caller) throws -> Int {
        try client.call("reference/listAll", #"{"reference":"gs://b"}"#)["items"]?.array?.count ?? -1
    }

    @Test(arguments: [60_000, 500_000], [false, true])
    func `Objects on a full disk can be deleted, and their space can be used again`(largest: Int, restarts: Bool)
        async throws
    {
        try await onThread {
            let (service, client) = try services()
            let names = try fill(client, largest: largest)
            try #require(names.count > 2)
            if restarts {
                let process = try client.call("service/status")["pid"]
                try #require(kill(pid_t(process?.number?.int64 ?? 0), SIGKILL) == 0)
            }
            try #require(try count(client) == names.count)
            for name in names {
                try #require(try client.refusal("reference/delete", #"{"reference":"gs://b/\#(name)"}"#) == .null)
            }
            try #require(try count(client) == 0)
            // Objects of another size fit, too: the space that small objects used in the database is free again.
            try #require(try fill(client, largest: 560_000 - largest).count > 2)
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A stream to a full disk keeps what is durable, and continues once there is room`() async throws {
        try await onThread {
            let (service, client) = try services()
            for name in ["a", "b"] {
                let text = repeated("x", 700_000)
                try client.call("reference/putData", #"{"reference":"gs://b/\#(name)","text":"\#(text)","wait":true}"#)
            }
            let task = try client.call("reference/putStream", #"{"reference":"gs://b/s"}"#)["task"]?.string ?? ""
            var (offset, durable, error): (Int64, Int64, JSON) = (0, 0, .null)
            func append() throws -> JSON {
                let params =
                    #"{"task":"\#(task)","offset":\#(durable),"text":"\#(repeated("y", 300_000))"}"#
                let refusal = try client.refusal("uploadTask/append", params)
                if refusal == .null { durable += 300_000 }
                return refusal
            }
            while error == .null { error = try append() }
            #expect(error["code"]?.number?.int64 == -13013 && error["data"]?["retryable"] == true, "\(error)")
            let found = try client.call("uploadTask/snapshot", #"{"task":"\#(task)"}"#)
            offset = found["offset"]?.number?.int64 ?? -1
            #expect(found["state"] == "running" && offset == durable && durable > 0, "\(found)")
            for name in ["a", "b"] { try client.call("reference/delete", #"{"reference":"gs://b/\#(name)"}"#) }
            // Other and fewer bytes than those that were refused.
            let last = #"{"task":"\#(task)","offset":\#(durable),"text":"last"}"#
            #expect(try client.call("uploadTask/append", last)["offset"]?.number?.int64 == durable + 4)
            let end = try client.call("uploadTask/finish", #"{"task":"\#(task)"}"#)
            #expect(end["state"] == "success" && end["progress"]?["totalUnitCount"]?.number?.int64 == durable + 4)
            let stored = try client.call("reference/getData", #"{"reference":"gs://b/s","maxSize":4194304}"#)["data"]
            let expected = Data((repeated("y", Int(durable)) + "last").utf8)
            #expect(stored?.string == expected.base64EncodedString())
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }
}

/// File systems that are mounted only for one process and its children.
private enum OwnMounts {
    static let command = "unshare --user --map-root-user --mount"
    static let areAllowed = system("\(command) mount -t tmpfs -o size=64k none /tmp 2> /dev/null") == 0
}
