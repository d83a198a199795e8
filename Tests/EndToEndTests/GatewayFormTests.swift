import HTTPText
import JSONText
import TestSupport
import Testing

/// Forms of browsers at `/BUCKET`, and their policies.
@Suite(.watchdog(minutes: 10)) struct GatewayFormTests {
    private func post(
        _ gateway: GatewayClient, _ fields: KeyValuePairs<String, String>, _ file: String = "hello",
        named name: String = ""
    ) async throws -> GatewayClient.Answer {
        let parts = fields.map { "--X\r\nContent-Disposition: form-data; name=\"\($0.key)\"\r\n\r\n\($0.value)\r\n" }
        let form =
            parts.joined() + "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(name)\"\r\n\r\n"
            + "\(file)\r\n--X--\r\n"
        return try await gateway.send(
            "POST", "/\(gateway.bucket)", form, ["Content-Type": "multipart/form-data; boundary=X"])
    }

    private func policy(_ conditions: String, until: String = "2100-01-01T00:00:00Z") -> String {
        Array(#"{"expiration":"\#(until)","conditions":[\#(conditions)]}"#.utf8).base64
    }

    @Test func `A policy is fulfilled, or the form is refused and stores nothing`() async throws {
        let gateway = try GatewayClient.shared("policies")
        for (conditions, why) in [
            (#"{"bucket":"other"}"#, "bucket must be other"), (#"{"key":"y"}"#, "key must be y"),
            (#"["starts-with","$key","d/"]"#, "key must begin with d/"),
            (#"["eq","$Content-Type","a/b"]"#, "content-type must be a/b"),
            (#"["content-length-range",0,4]"#, "EntityTooLarge"), (#"["content-length-range",6,9]"#, "EntityTooSmall"),
            (#"["ends-with","$key","x"]"#, "no condition ends-with"), (#"["content-length-range",3,1]"#, "no bounds"),
            (#"["eq","key","x"]"#, "names no $field"), ("7", "neither an object nor a list"),
        ] {
            let named = conditions.contains("key") ? conditions : #"["starts-with","$key",""],"# + conditions
            let answer = try await post(gateway, ["key": "x", "policy": policy(named)])
            #expect(answer.status == 400 && answer.text.contains(why), "\(conditions): \(answer.text)")
        }
        for bad in [
            "", "!", Array("{}".utf8).base64, policy("", until: "2000-01-01T00:00:00Z"), policy("", until: "x"),
        ] {
            let answer = try await post(gateway, ["key": "x", "policy": bad])
            #expect(answer.status == 400 && answer.text.contains("InvalidPolicyDocument"), "\(bad): \(answer.text)")
        }
        for target in ["http://a/\r\nX-B: c", "http://a/\u{7F}"] {
            let answer = try await post(gateway, ["key": "x", "success_action_redirect": target])
            #expect(answer.status == 400 && answer.text.contains("success_action_redirect"))
        }
        #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
        let conditions = #"""
            {"bucket":"policies"},["starts-with","$key",""],["content-length-range",5,5],{"success_action_status":200}
            """#
        let stored = try await post(
            gateway, ["key": "x", "success_action_status": "200", "policy": policy(conditions)])
        #expect(stored.status == 200, "\(stored.text)")
        #expect(try await gateway.get("/policies/x").text == "hello")
    }

    @Test func `A form of Amazon S3 has the name of its file in the key that the policy is about`() async throws {
        let gateway = try GatewayClient.shared("file-keys")
        let policy = policy(#"["starts-with","$key","d/hello"],{"bucket":"file-keys"}"#)
        let fields: KeyValuePairs = ["key": "d/${filename}", "AWSAccessKeyId": "k", "policy": policy]
        #expect(try await post(gateway, fields, named: "other.txt").status == 403)
        #expect(try await post(gateway, fields, named: "hello.txt").status == 204)
        #expect(try await gateway.get("/file-keys/d/hello.txt").text == "hello")
    }

    @Test func `A malformed form has a code of its own`() async throws {
        let gateway = try GatewayClient.shared("malformed-posts")
        let type: HTTPHeaders = ["Content-Type": "multipart/form-data; boundary=X"]
        let key = "--X\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nx\r\n"
        let file = "--X\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhello"
        for (body, code) in [
            ("", "MalformedPOSTRequest"), ("hello", "MalformedPOSTRequest"),
            ("--X\r\nno header\r\n\r\n", "MalformedPOSTRequest"),
            (key + file, "MalformedPOSTRequest"), (key + "--X--\r\n", "InvalidArgument"),
            (file + "\r\n--X--\r\n", "InvalidArgument"),
        ] {
            let answer = try await gateway.send("POST", "/\(gateway.bucket)", body, type)
            #expect(answer.status == 400 && answer.text.contains("<Code>\(code)</Code>"), "\(body): \(answer.text)")
        }
        var wrong = type
        wrong.add("Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==")
        let digest = try await gateway.send("POST", "/\(gateway.bucket)", key + file + "\r\n--X--\r\n", wrong)
        #expect(digest.status == 400 && digest.text.contains("BadDigest"), "\(digest.text)")
        #expect(try await gateway.names("").items == [])
    }

    @Test func `A file of a form has the length and the checksum that its part declares`() async throws {
        let gateway = try GatewayClient.shared("declared-posts")
        func send(_ header: String) async throws -> Int {
            let key = "--X\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nx\r\n"
            let file = "--X\r\nContent-Disposition: form-data; name=\"file\"\r\n\(header)\r\n\r\nhello\r\n--X--\r\n"
            return try await gateway.send(
                "POST", "/\(gateway.bucket)", key + file, ["Content-Type": "multipart/form-data; boundary=X"]
            ).status
        }
        #expect(try await send("Content-Length: 6") == 400)
        #expect(try await send("x-goog-hash: crc32c=AAAAAA==") == 400)
        #expect(try await gateway.names("").items == [])
        #expect(try await send("Content-Length: 5\r\nx-goog-hash: crc32c=mnG7TA==") == 204)
    }

    @Test func `With the status 201 the answer names the object`() async throws {
        let gateway = try GatewayClient.shared("posts")
        let answer = try await post(gateway, ["key": "a b", "success_action_status": "201"])
        let tag = try await gateway.get("/posts/a%20b").headers["ETag"]
        #expect(answer.status == 201 && answer.headers["ETag"] == tag)
        #expect(answer.text.contains("<Bucket>posts</Bucket><Key>a b</Key>"), "\(answer.text)")
        #expect(answer.headers["Location"]?.hasSuffix("/posts/a%20b") == true)
    }

    @Test func `A form of Amazon S3 has its own names for metadata and signatures`() async throws {
        let gateway = try GatewayClient.shared("amazon-posts")
        let answer = try await post(
            gateway,
            [
                "key": "x", "x-amz-algorithm": "AWS4-HMAC-SHA256", "x-amz-credential": "c", "x-amz-date": "d",
                "x-amz-signature": "s", "x-amz-meta-k": "v",
                "policy": policy(
                    #"{"x-amz-meta-k":"v"},["eq","$x-amz-algorithm","AWS4-HMAC-SHA256"],{"key":"x"},"#
                        + #"{"x-amz-credential":"c"},{"x-amz-date":"d"},{"bucket":"amazon-posts"}"#),
            ])
        #expect(answer.status == 204, "\(answer.text)")
        #expect(try await gateway.get("\(gateway.gcs)/x")["metadata"] == ["k": "v"])
    }

    @Test func `A field that the policy does not name is refused, but those that both services except`() async throws {
        let gateway = try GatewayClient.shared("unnamed-posts")
        let key = policy(#"{"key":"x"}"#)
        for (name, value) in [
            ("x-amz-meta-k", "v"), ("x-goog-meta-k", "v"), ("Content-Type", "a/b"), ("success_action_status", "200"),
            ("bucket", "unnamed-posts"), ("x-goog-date", "d"), ("x-amz-server-side-encryption", "AES256"),
        ] {
            let answer = try await post(gateway, ["key": "x", name: value, "policy": key])
            let called = name == "x-amz-meta-k" ? "x-goog-meta-k" : name.lowercased()
            #expect(answer.status == 400 && answer.text.contains("no condition for \(called)"), "\(answer.text)")
            let amazon = try await post(gateway, ["key": "x", name: value, "AWSAccessKeyId": "A", "policy": key])
            #expect(amazon.status == 403 && amazon.text.contains("<Code>AccessDenied</Code>"), "\(amazon.text)")
        }
        let late = policy(#"{"key":"x"}"#, until: "2000-01-01T00:00:00Z")
        #expect(try await post(gateway, ["key": "x", "AWSAccessKeyId": "A", "policy": late]).status == 403)
        #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
        // For Amazon S3 the policy names the bucket, too.
        let unnamed = try await post(gateway, ["key": "x", "AWSAccessKeyId": "A", "policy": key])
        #expect(unnamed.status == 403 && unnamed.text.contains("no condition for bucket"), "\(unnamed.text)")
        let both = policy(#"{"key":"x"},{"bucket":"unnamed-posts"}"#)
        for (id, signature, key) in [("AWSAccessKeyId", "signature", both), ("GoogleAccessId", "Signature", key)] {
            let answer = try await post(
                gateway, ["key": "x", id: "A", "policy": key, signature: "s", "x-ignore-a": "b"])
            #expect(answer.status == 204, "\(answer.text)")
        }
    }
}
