import Foundation
import HTTPText
import JSONText
import TestSupport
import Testing

/// Existing and missing buckets, and what is kept with them.
@Suite(.watchdog(minutes: 10)) struct GatewayBucketTests {
    private let missing = "The specified bucket does not exist."
    private let cloud = "/storage/v1/b"

    private func names(_ client: GatewayClient, _ query: String = "") async throws -> [String] {
        try await client.get("\(cloud)?project=p&\(query)")["items"]?.array?.compactMap { $0["name"]?.string } ?? []
    }

    @Test func `With --buckets every door says that another bucket does not exist`() async throws {
        let gateway = try LiveGateway(["--buckets", "box,other"])
        let client = gateway.client
        _ = try await client.store("x")
        let start: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        let none = "/storage/v1/b/none"
        let answers = try await [
            client.get(none), client.get("\(none)/o"), client.get("\(none)/o/x"), client.get("\(none)/iam"),
            client.send("PATCH", "\(none)/o/x", "{}"), client.send("DELETE", "\(none)/o/x"),
            client.send("PATCH", none, "{}"), client.send("DELETE", none),
            client.send("POST", "\(client.gcs)/x/rewriteTo/b/none/o/x"),
            client.send("POST", "\(none)/o/x/rewriteTo/b/box/o/y"),
            client.send("POST", "/upload\(none)/o?uploadType=media&name=x", "hello"),
            client.send("POST", "/upload\(none)/o?uploadType=resumable&name=x", "{}"),
            client.send("POST", "\(none)/o/x/compose", #"{"sourceObjects":[{"name":"x"}]}"#),
        ]
        for (number, answer) in answers.enumerated() {
            let error = answer["error"]
            #expect(answer.status == 404 && error?["message"]?.string == missing, "\(number): \(answer.text)")
            #expect(error?["errors"]?.array?.first?["reason"] == "notFound", "\(number)")
        }
        let firebase = "/v0/b/none/o"
        for (number, answer) in try await [
            client.get("\(firebase)/x"), client.get("\(firebase)?prefix=&delimiter=%2F"),
            client.send("POST", "\(firebase)?name=x", "hello"), client.send("POST", "\(firebase)?name=x", "{}", start),
            client.send("DELETE", "\(firebase)/x"),
        ].enumerated() {
            let message = answer["error"]?["message"]?.string
            #expect(answer.status == 404 && message == "Not Found.  Could not access bucket none", "\(number)")
        }
        for (method, path, body) in [
            ("GET", "/none/x", nil), ("PUT", "/none/x", "hello"), ("DELETE", "/none/x", nil), ("GET", "/none", nil),
            ("GET", "/none?max-keys=0", nil), ("GET", "/none?uploads", nil), ("GET", "/none?location", nil),
            ("POST", "/none/x?uploads", ""),
            ("POST", "/none?delete", "<Delete><Object><Key>x</Key></Object></Delete>"),
        ] as [(String, String, String?)] {
            let answer = try await client.send(method, path, body)
            #expect(answer.status == 404 && answer.text.contains("<Code>NoSuchBucket</Code>"), "\(method) \(path)")
        }
        for (method, params) in [
            ("reference/list", #"{"reference":"gs://none"}"#), ("reference/delete", #"{"reference":"gs://none/x"}"#),
            ("reference/putData", #"{"reference":"gs://none/x","text":"a","wait":true}"#),
        ] {
            #expect(try await client.refusal(method, params) == -13011, "\(method)")
        }
        #expect(try await names(client) == ["box", "other"])
        try gateway.end()
    }

    @Test(arguments: [["--buckets", "box"], []])
    func `The sessions of a deleted bucket are removed`(flags: [String]) async throws {
        let gateway = try LiveGateway(flags + ["--max-upload-sessions", "2"])
        let client = gateway.client
        let start: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        let cloud =
            try await client.send("POST", "/upload\(cloud)/box/o?uploadType=resumable&name=x", "{}")
            .headers["Location"] ?? ""
        let firebase =
            try await client.send("POST", "\(client.v0)?name=x", "{}", start).headers["X-Goog-Upload-URL"] ?? ""
        #expect(try await client.send("DELETE", "\(self.cloud)/box").status == 204)
        for answer in try await [
            client.send("PUT", cloud, "hello"), client.send("PUT", cloud, "", ["Content-Range": "bytes */*"]),
            client.command(firebase, "query"), client.command(firebase, "upload, finalize", "hello"),
        ] { #expect(answer.status == 404, "\(answer.text)") }
        #expect(try await client.send("POST", "\(self.cloud)?project=p", #"{"name":"box"}"#).status == 200)
        #expect(try await client.send("PUT", cloud, "hello").status == 404)
        #expect(try await client.names("").items == [])
        try gateway.end()
    }

    @Test func `A bucket exists after it is made, and does not after it is deleted`() async throws {
        let gateway = try LiveGateway(["--buckets", "box"])
        let client = gateway.client
        #expect(try await client.send("POST", "\(cloud)?project=p", #"{"name":"made"}"#).status == 200)
        let again = try await client.send("POST", "\(cloud)?project=p", #"{"name":"made"}"#)
        #expect(again.status == 409 && again["error"]?["errors"]?.array?.first?["reason"] == "conflict")
        #expect(try await client.send("PUT", "/made/x", "hello").status == 200)
        #expect(try await client.send("DELETE", "\(cloud)/made").status == 409)
        #expect(try await client.send("DELETE", "\(cloud)/made/o/x").status == 204)
        #expect(try await client.send("DELETE", "\(cloud)/made?ifMetagenerationMatch=2").status == 412)
        #expect(try await client.send("DELETE", "\(cloud)/made?ifMetagenerationMatch=1").status == 204)
        #expect(try await client.get("\(cloud)/made").status == 404)
        #expect(try await client.send("PUT", "/made/x", "hello").status == 404)
        try gateway.end()
    }

    @Test(arguments: [["--buckets", "box"], []])
    func `Unfinished uploads in parts go with their bucket`(flags: [String]) async throws {
        let gateway = try LiveGateway(flags)
        let client = gateway.client
        let make = #"{"name":"made"}"#
        let objects = gateway.place.root + "/objects"
        for remove in ["\(cloud)/made", "/made"] {
            #expect(try await client.send("POST", "\(cloud)?project=p", make).status == 200)
            let start = try await client.send("POST", "/made/x?uploads").text
            let id = try #require(start.firstMatch(of: /<UploadId>([^<]*)</)?.1)
            let upload = "/made/x?uploadId=\(id)"
            #expect(try await client.send("PUT", "\(upload)&partNumber=1", "part").status == 200)
            let files = try FileManager.default.contentsOfDirectory(atPath: objects)
            let other = try await client.send("POST", "/box/x?uploads")
            #expect(other.status == 200)
            #expect(try await client.send("DELETE", remove).status == 204)
            #expect(try await client.get("/made?uploads").status == 404)
            #expect(try await client.send("POST", "\(cloud)?project=p", make).status == 200)
            #expect(try await client.get("/made?uploads").text.contains("<UploadId>") == false)
            #expect(try await client.send("PUT", "\(upload)&partNumber=2", "part").status == 404)
            #expect(try await client.get("/box?uploads").text.contains("<UploadId>"))
            try await until {
                try FileManager.default.contentsOfDirectory(atPath: objects).filter { files.contains($0) }.count
                    < files.count
            }
            #expect(try await client.send("DELETE", "\(cloud)/made").status == 204)
        }
        try gateway.end()
    }

    @Test func `A bucket that Google would not make is refused by its name or its labels`() async throws {
        let client = try GatewayClient.shared("names")
        for name in [
            "AB", "ab", "..", "-abc", "abc.", "a..b", "192.168.1.1", "goog-x", "my-google", "é-bucket",
            String(repeating: "a", count: 64),
        ] {
            let answer = try await client.send("POST", "\(cloud)?project=p", #"{"name":"\#(name)"}"#)
            #expect(answer.status == 400 && answer.text.contains("Invalid bucket name: '\(name)'"), "\(answer.text)")
        }
        for label in [#""A":"b""#, #""a b":"c""#, #""1":"c""#, #""a":"B""#, #""":"b""#] {
            let body = #"{"name":"labelled","labels":{\#(label)}}"#
            let answer = try await client.send("POST", "\(cloud)?project=p", body)
            #expect(answer.status == 400 && answer.text.contains("Labels have"), "\(label): \(answer.text)")
        }
        for kind in ["REGIONAL", "MULTI_REGIONAL", "DURABLE_REDUCED_AVAILABILITY"] {
            let name = kind.lowercased().replacing("_", with: "-")
            let body = #"{"name":"\#(name)","storageClass":"\#(kind)"}"#
            #expect(try await client.send("POST", "\(cloud)?project=p", body)["storageClass"]?.string == kind)
        }
    }

    @Test func `A deleted bucket is missing until a write names it again`() async throws {
        let client = try GatewayClient.shared("gone")
        let bucket = "\(cloud)/gone"
        #expect(try await client.get(bucket).status == 200)
        _ = try await client.store("x")
        #expect(try await client.send("DELETE", bucket).status == 409)
        #expect(try await client.send("DELETE", "\(client.gcs)/x").status == 204)
        #expect(try await client.send("DELETE", bucket).status == 204)
        for answer in try await [
            client.get(bucket), client.get(client.gcs), client.send("DELETE", bucket), client.get("\(client.gcs)/x"),
        ] { #expect(answer.status == 404, "\(answer.text)") }
        _ = try await client.store("x")
        #expect(try await client.get(bucket).status == 200)
    }

    @Test func `Buckets are listed by prefix and page by page`() async throws {
        let gateway = try LiveGateway(["--buckets", "a1,a2,a3,b1"])
        let client = gateway.client
        #expect(try await names(client, "prefix=a") == ["a1", "a2", "a3"])
        let page = try await client.get("\(cloud)?project=p&prefix=a&maxResults=2")
        #expect(page["items"]?.array?.compactMap { $0["name"]?.string } == ["a1", "a2"])
        let token = try #require(page["nextPageToken"]?.string)
        #expect(try await names(client, "prefix=a&maxResults=2&pageToken=\(client.escaped(token))") == ["a3"])
        for other in ["prefix=b&pageToken=\(client.escaped(token))", "pageToken=a2", "pageToken=%00"] {
            let answer = try await client.get("\(cloud)?project=p&\(other)")
            #expect(answer.status == 400 && answer.text.contains("The page token was not given"), "\(other)")
        }
        #expect(try await client.get("\(cloud)?project=p&prefix=a&maxResults=3")["nextPageToken"] == nil)
        func all(_ query: String) async throws -> [String] {
            let text = try await client.get("/\(query)").text
            let values = text.matches(of: /<(?:Name|ContinuationToken)>([^<]*)</).map { String($0.output.1) }
            #expect(text.contains("<ListAllMyBucketsResult "))
            return values
        }
        #expect(try await all("") == ["a1", "a2", "a3", "b1"])
        let first = try await all("?prefix=a&max-buckets=2&x-id=ListBuckets")
        #expect(first == ["a1", "a2", token])
        #expect(try await all("?prefix=a&max-buckets=2&continuation-token=\(client.escaped(token))") == ["a3"])
        #expect(try await client.get("/?continuation-token=a2").status == 400)
        for (method, path, status) in [("POST", "/", 404), ("GET", "/?max-buckets=0", 400), ("GET", "/?acl", 501)] {
            let answer = try await client.send(method, path)
            #expect(answer.status == status && answer.text.contains("<Error><Code>"), "\(method) \(path)")
        }
        try gateway.end()
    }

    // MARK: - What is kept

    @Test func `Properties of a bucket are kept, changed one by one, and replaced as a whole`() async throws {
        let client = try GatewayClient.shared("kept-bucket")
        let bucket = "\(cloud)/kept-made"
        let made = try await client.send(
            "POST", "\(cloud)?project=p",
            #"{"name":"kept-made","location":"eu","storageClass":"NEARLINE","labels":{"a":"1","b":"2"}}"#)
        #expect(made.status == 200 && made["location"] == "EU" && made["locationType"] == "multi-region")
        #expect(made["storageClass"] == "NEARLINE" && made["metageneration"] == "1")
        for member in ["timeCreated", "updated", "timeStorageClassUpdated", "projectNumber", "etag", "rpo"] {
            #expect(made[member]?.string?.isEmpty == false, "\(member)")
        }
        let lifecycle = #"{"rule":[{"action":{"type":"Delete"},"condition":{"age":3,"matchesPrefix":["x"]}}]}"#
        let cors = #"[{"origin":["*"],"method":["GET"],"responseHeader":["ETag"],"maxAgeSeconds":5}]"#
        let website = #"{"mainPageSuffix":"index.html","notFoundPage":"404.html"}"#
        let billing = #"{"requesterPays":true}"#
        let patched = try await client.send(
            "PATCH", bucket,
            #"{"labels":{"a":null,"c":"3"},"lifecycle":\#(lifecycle),"cors":\#(cors),"website":\#(website),"#
                + #""billing":\#(billing)}"#)
        #expect(patched["labels"] == ["b": "2", "c": "3"] && patched["metageneration"] == "2")
        for (member, text) in [
            ("lifecycle", lifecycle), ("cors", cors), ("website", website), ("billing", billing),
        ] {
            #expect(try patched[member] == JSON(parsing: text), "\(member)")
        }
        #expect(try await client.get(bucket).json == patched.json)
        #expect(try await client.send("PATCH", "\(bucket)?ifMetagenerationMatch=1", "{}").status == 412)
        let replaced = try await client.send("PUT", bucket, #"{"labels":{"d":"4"},"storageClass":"NEARLINE"}"#)
        #expect(replaced["labels"] == ["d": "4"] && replaced["location"] == "EU" && replaced["cors"] == nil)
        #expect(replaced["timeStorageClassUpdated"] == made["timeStorageClassUpdated"])
        #expect(try await client.get("\(bucket)?ifMetagenerationNotMatch=3").status == 304)
        let stored = try await client.send("POST", "/upload\(bucket)/o?uploadType=media&name=x", "hello")
        #expect(stored["storageClass"] == "NEARLINE", "the class of new objects")
    }

    @Test(
        arguments: [
            #""labels":{"a":1}"#, #""labels":["a"]"#, #""cors":{"origin":["*"]}"#, #""cors":[{"origin":"*"}]"#,
            #""cors":["a"]"#, #""lifecycle":{"rule":{}}"#, #""lifecycle":{"rule":[{"action":{"type":"Burn"}}]}"#,
            #""lifecycle":{"rule":[{"condition":{"age":"x"}}]}"#, #""lifecycle":{"rules":[]}"#,
            #""website":{"mainPageSuffix":1}"#, #""storageClass":"WARM""#, #""location":"EU""#,
            #""defaultEventBasedHold":"yes""#, #""iamConfiguration":{"publicAccessPrevention":"no"}"#, #""rpo":"FAST""#,
        ])
    func `A property of a bucket with another shape is refused`(member: String) async throws {
        let client = try GatewayClient.shared("shapes")
        let called = member.split(separator: "\"")[0]
        let answer = try await client.send("PATCH", "\(cloud)/shapes", "{\(member)}")
        #expect(answer.status == 400 && answer.text.contains(called), "\(answer.text)")
    }

    @Test func `What is kept outlives the process`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        _ = try await client.send("PATCH", "\(cloud)/box", #"{"labels":{"a":"1"},"defaultEventBasedHold":true}"#)
        let object = #"{"customTime":"2026-01-01T00:00:00Z","storageClass":"ARCHIVE","temporaryHold":true}"#
        let stored = try await client.store("x", object)
        #expect(stored["eventBasedHold"] == true, "the default of its bucket")
        let read = try await (client.get("\(cloud)/box").json, client.get("\(client.gcs)/x").json)
        gateway.service.signal(SIGKILL)
        _ = try gateway.service.waitForExit()
        let (service, input) = try gateway.place.service([
            "--gateway", "127.0.0.1:0", "--socket", gateway.place.socket,
        ])
        try service.waitForLog("the gateway listens")
        let address = try #require(service.logged.firstMatch(of: /STORAGE_EMULATOR_HOST=(http:\S+)/)?.1)
        let next = GatewayClient(String(address), "box") { _, _ in .null }
        func withoutLinks(_ json: JSON) -> [JSON.Member] {
            (json.object ?? []).filter { $0.key != "selfLink" && $0.key != "mediaLink" }
        }
        #expect(try await withoutLinks(next.get("\(cloud)/box").json) == withoutLinks(read.0))
        #expect(try await withoutLinks(next.get("\(next.gcs)/x").json) == withoutLinks(read.1))
        service.signal(SIGTERM)
        withExtendedLifetime(input) {}
        _ = try service.waitForExit()
    }

    // MARK: - What a bucket has besides

    @Test func `A policy is kept under its etag, and has all permissions`() async throws {
        let client = try GatewayClient.shared("policies")
        let iam = "\(cloud)/policies/iam"
        let first = try await client.get("\(iam)?optionsRequestedPolicyVersion=3")
        #expect(first["bindings"]?.array?.isEmpty == false)
        let etag = try #require(first["etag"]?.string)
        let binding = #"{"role":"roles/storage.objectViewer","members":["allUsers"]}"#
        let set = try await client.send("PUT", iam, #"{"etag":"\#(etag)","bindings":[\#(binding)]}"#)
        #expect(try set["bindings"] == [JSON(parsing: binding)])
        #expect(try await client.get(iam).json == set.json)
        #expect(try await client.send("PUT", iam, #"{"etag":"\#(etag)","bindings":[]}"#).status == 412)
        for bindings in [#"[{"members":[]}]"#, #"[{"role":"r","condition":{"title":"t","expression":"true"}}]"#] {
            #expect(try await client.send("PUT", iam, #"{"bindings":\#(bindings)}"#).status == 400)
        }
        let asked = "permissions=storage.objects.get&permissions=storage.objects.list"
        let permissions = try await client.get("\(iam)/testPermissions?\(asked)")["permissions"]
        #expect(permissions == ["storage.objects.get", "storage.objects.list"])
    }

    @Test func `What a bucket or a project has besides is served, or refused by name`() async throws {
        let client = try GatewayClient.shared("bucket-parts")
        _ = try await client.store("x")
        let bucket = "\(cloud)/bucket-parts"
        let layout = try await client.get("\(bucket)/storageLayout")
        #expect(layout["bucket"] == "bucket-parts" && layout["hierarchicalNamespace"] == ["enabled": false])
        #expect(
            try await client.get("\(bucket)/managedFolders?prefix=d/&pageSize=9").json == [
                "kind": "storage#managedFolders"
            ])
        for path in ["/storage/v1/projects/p/serviceAccount", "/projects/p/serviceAccount"] {
            #expect(try await client.get(path)["email_address"]?.string?.contains("@gs-project-accounts.") == true)
        }
        for path in ["\(bucket)/acl", "\(bucket)/defaultObjectAcl", "\(client.gcs)/x/acl"] {
            for method in ["GET", "POST", "PUT"] {
                let answer = try await client.send(method, path, method == "GET" ? nil : "{}")
                #expect(answer.status == 400 && answer.text.contains("uniform bucket-level access"), "\(path)")
            }
        }
        for (method, path, name) in [
            ("GET", "\(bucket)/notificationConfigs", "storage/observe"), ("GET", "\(bucket)/folders", "folders"),
            ("POST", "\(bucket)/managedFolders", "managedFolders"), ("POST", "\(bucket)/restore", "restore"),
            ("POST", "\(bucket)/lockRetentionPolicy", "lockRetentionPolicy"),
            ("POST", "\(client.gcs)/x/restore", "restore"), ("GET", "/storage/v1/projects/p/hmacKeys", "HMAC"),
            ("POST", "/storage/v1/projects/p/hmacKeys", "HMAC"),
        ] {
            let answer = try await client.send(method, path, method == "GET" ? nil : "{}")
            #expect(answer.status == 501 && answer.text.contains(name), "\(method) \(path): \(answer.text)")
        }
    }
}

extension GatewayClient {
    /// The code with which a call over JSON-RPC is refused; nil where it succeeds.
    func refusal(_ method: String, _ params: String) async throws -> JSON? {
        do { _ = try await call(method, params) } catch let refusal as Caller.Refusal { return refusal.error["code"] }
        return nil
    }
}
