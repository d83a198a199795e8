import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Storage
import TestSupport
import Testing

@testable import Gateway

/// The table of what the gateway serves: each row with each param, header and member that is known.
@Suite(.watchdog) struct RouteTests {
    typealias Method = HTTPServerRequest.Method

    private static let rows = RequestTarget.API.allCases.flatMap { api in
        Route.table(of: api).map { (api, $0) }
    }

    /// The params that bound a list.
    private static let bounds: Set = ["maxResults", "max-keys", "max-buckets", "max-uploads", "max-parts"]

    @Test func `Each list waits for the memory of its answer before its turn`() {
        let lists = Self.rows.filter { !$0.1.params.isDisjoint(with: Self.bounds) }
        #expect(lists.count == 9)
        for (api, route) in lists {
            #expect(route.page.map { route.params.contains($0.param) } == true, "\(api) \(route.pattern)")
        }
        #expect(Self.rows.allSatisfy { $0.1.page == nil || !$0.1.params.isDisjoint(with: Self.bounds) })
    }

    /// A request that fits a row.
    private static func target(_ api: RequestTarget.API, _ route: Route) -> String {
        let path = route.pattern.map { $0 == "*" ? "x" : $0 == "..." ? "y" : $0 }.joined(separator: "/")
        let selector = route.selector.map { "?\($0)" + ($1.map { "=\($0 == "*" ? "x" : $0)" } ?? "") } ?? ""
        let base =
            switch api {
            case .firebase: "/v0/"
            case .cloud: ["b", "projects"].contains(route.pattern[0]) ? "/storage/v1/" : "/"
            case .internal: "/internal/"
            case .xml: "/"
            }
        return base + path + selector
    }

    private static func headers(_ route: Route) -> HTTPHeaders {
        route.header.map { HTTPHeaders([.init($0, "x")]) } ?? [:]
    }

    private func request(
        _ method: Method, _ target: String, _ headers: HTTPHeaders = [:]
    ) throws(GatewayError) -> GatewayRequest {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        let http = HTTPServerRequest(
            parts[0], method: method, query: parts.count > 1 ? parts[1] : nil, headers: headers)
        return try GatewayRequest(http, .empty)
    }

    /// What a request is refused with; nil where a row answers it.
    private func refusal(_ method: Method, _ target: String, _ headers: HTTPHeaders = [:]) -> GatewayError? {
        do {
            _ = try request(method, target, headers).allowedRoute()
            return nil
        } catch { return error }
    }

    private func eachRow(_ check: (Route, Method, String, HTTPHeaders) throws -> Void) rethrows {
        for (api, route) in Self.rows {
            for method in route.methods { try check(route, method, Self.target(api, route), Self.headers(route)) }
        }
    }

    /// What is answered otherwise than with this status, and with an error that names what is refused.
    private struct Flaws {
        var all: [String] = []

        mutating func check(_ error: GatewayError?, _ status: Int?, naming name: String, _ request: String) {
            guard error?.status != status || error?.message.contains(name) == false else { return }
            all.append("\(request) \(name): \(error?.message ?? "served")")
        }
    }

    @Test func `Each row answers the requests that it is about`() throws {
        var seen = 0
        try eachRow { route, method, target, headers in
            // A row before it may serve some of its paths.
            let found = try request(method, target, headers).allowedRoute()
            #expect(found.pattern.count <= route.pattern.count, "\(method) \(target)")
            #expect(found.isAbout(try request(method, target, headers).target.path))
            if found.pattern == route.pattern, found.selector?.name == route.selector?.name { seen += 1 }
        }
        #expect(seen > 100)
    }

    @Test func `A row takes its params, refuses others that are known by name, and unknown ones`() {
        let selectors = Set(Self.rows.compactMap { $0.1.selector?.name })
        let known = QueryParams.known.union(["predefinedAcl", "strange"]).subtracting(selectors)
        var flaws = Flaws()
        eachRow { route, method, target, headers in
            guard route.unknown != .unchecked else { return }
            let query = target + (target.contains("?") ? "&" : "?")
            for name in known {
                let isStandard = QueryParams.standard.contains(name) && !(name == "fields" && target.hasPrefix("/v0"))
                let isServed = route.params.contains(name) || isStandard
                let isTaken = isServed || name == "strange" && route.unknown == .ignored
                let status = isTaken ? nil : ["strange", "predefinedAcl"].contains(name) ? 400 : 501
                flaws.check(
                    refusal(method, "\(query)\(name)=\(Self.value(of: name))", headers), status, naming: name,
                    "\(method) \(target)")
                guard !isServed, name != "predefinedAcl" else { continue }
                // A subresource has a meaning without a value, too.
                let isSubresource = QueryParams.subresources.contains(name)
                let emptyStatus = isSubresource && !QueryParams.flags.contains(name) ? 501 : nil
                flaws.check(
                    refusal(method, "\(query)\(name)=", headers), emptyStatus, naming: name, "\(method) \(target)")
                guard isSubresource else { continue }
                flaws.check(refusal(method, "\(query)\(name)", headers), 501, naming: name, "\(method) \(target)")
            }
        }
        #expect(flaws.all == [])
    }

    /// One that the param may have, and that changes something.
    private static func value(of name: String) -> String {
        switch name {
        case "predefinedAcl": "publicRead"
        case "projection": "full"
        case _ where QueryParams.flags.contains(name) || name == "create_token": "true"
        default: "1"
        }
    }

    @Test func `A write takes its headers, and refuses others with a meaning by name`() {
        let values: HTTPHeaders = [
            "content-range": "bytes 0-1/2", "x-goog-hash": "crc32c=AAAAAA==", "x-goog-upload-offset": "0",
            "x-goog-if-generation-match": "1", "x-goog-meta-a": "b", "x-goog-custom-time": "t",
            "x-goog-storage-class": "NEARLINE", "x-goog-acl": "public-read", "x-goog-tagging": "a=b",
            "x-goog-content-length-range": "0,1", "x-amz-tagging": "a=b", "x-amz-meta-a": "b",
            "x-amz-checksum-crc32": "AAAAAA==", "x-goog-copy-source-if-match": "a", "content-digest": "d",
            "x-goog-if-strange": "1", "x-goog-strange": "1", "x-http-method-override": "BREW",
            "trailer": "x-goog-hash", "x-amz-object-lock-mode": "GOVERNANCE",
        ]
        var flaws = Flaws()
        eachRow { route, method, target, headers in
            guard ![Method.get, .head].contains(method) else { return }
            let isXML = Self.isXML(target)
            for field in values.fields {
                var all = headers
                all.add(field.name, field.value)
                let name = isXML ? HTTPServerRequest.googleName(of: field.name) : field.name
                let isServed = route.headers.contains { name == $0 || $0.hasSuffix("-") && name.hasPrefix($0) }
                flaws.check(
                    refusal(method, target, all), isServed ? nil : 501, naming: name, "\(method) \(target)")
            }
        }
        #expect(flaws.all == [])
    }

    @Test func `Headers that identify a client or sign a request, and defaults, change nothing`() {
        let values: HTTPHeaders = [
            "x-goog-api-client": "c", "x-goog-date": "d", "x-goog-user-project": "p", "x-amz-date": "d",
            "x-goog-api-version": "2", "x-goog-acl": "private", "x-goog-custom-audit-job": "j",
            "x-amz-api-version": "2006-03-01", "x-amz-bucket-object-lock-enabled": "false",
            "x-amz-expected-bucket-owner": StoredBucket.projectNumber, "x-amz-request-payer": "requester",
            "x-amz-server-side-encryption": "AES256", "x-amz-object-ownership": "BucketOwnerEnforced",
            "x-amz-security-token": "t", "Authorization": "a", "Accept": "b", "X-Strange": "c",
        ]
        var flaws = Flaws()
        eachRow { _, method, target, headers in
            for field in values.fields {
                var all = headers
                all.add(field.name, field.value)
                flaws.check(refusal(method, target, all), nil, naming: field.name, "\(method) \(target)")
            }
        }
        #expect(flaws.all == [])
    }

    @Test func `Another value of a constant of Amazon S3 is refused by name`() {
        for name in [
            "x-amz-api-version", "x-amz-bucket-object-lock-enabled", "x-amz-expected-bucket-owner",
            "x-amz-request-payer", "x-amz-server-side-encryption", "x-amz-object-ownership",
        ] {
            for target in ["/x", "/x/y"] {
                let error = refusal(.put, target, HTTPHeaders([.init(name, "aws:other")]))
                #expect(error?.status == 501 && error?.message.contains(name) == true, "\(name)")
            }
        }
        #expect(refusal(.get, "/x?Version=2006-03-01") == nil)
        #expect(refusal(.get, "/x?Version=2007-03-01")?.message.contains("Version") == true)
        #expect(refusal(.get, "/storage/v1/b/x?Version=2006-03-01")?.status == 400)
        #expect(refusal(.get, "/x/y?versionId=null") == nil)
        #expect(refusal(.get, "/x/y?versionId=5")?.status == 501)
    }

    @Test func `A question of Amazon S3 has a row, and what would change its answer has none`() throws {
        for (questions, target) in [(AmazonQuestion.ofBuckets, "/x"), (AmazonQuestion.ofObjects, "/x/y")] {
            for question in questions {
                let route = try request(.get, "\(target)?\(question.param)").allowedRoute()
                #expect(route.selector?.name == question.param)
                for method in [Method.put, .delete] {
                    let error = refusal(method, "\(target)?\(question.param)")
                    #expect(error?.status == 501 && error?.message.contains(question.param) == true)
                }
            }
        }
    }

    @Test func `A signed URL of Amazon S3 may have headers as params`() throws {
        let url = "/x/y?AWSAccessKeyId=k&Signature=s&Expires=1&content-type=a%2Fb&x-amz-meta-k=v&X-Amz-Acl=private"
        let request = try request(.put, url)
        #expect(request.header("Content-Type") == "a/b" && request.header("x-goog-meta-k") == "v")
        #expect(try request.allowedRoute().params.contains("AWSAccessKeyId"))
        let other = refusal(.put, url, ["Content-Type": "c/d"])
        #expect(other?.status == 400 && other?.message.contains("two values") == true)
        #expect(refusal(.put, url, ["Content-Type": "a/b"]) == nil)
        #expect(refusal(.put, "/x/y?x-amz-tagging=a%3Db")?.message.contains("x-amz-tagging") == true)
        #expect(refusal(.get, "/x/y?X-Amz-Date=d&X-Amz-Signature=s") == nil)
    }

    @Test func `Conditions on reading are compared, or refused by name`() {
        var flaws = Flaws()
        eachRow { route, method, target, headers in
            let isRead = [Method.get, .head].contains(method)
            for name in ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"] {
                var all = headers
                all.add(name, "a")
                let isServed = route.comparesTags && (isRead || Self.isXML(target))
                flaws.check(
                    refusal(method, target, all), isServed ? nil : 501, naming: name, "\(method) \(target)")
            }
        }
        #expect(flaws.all == [])
    }

    @Test func `No row takes a key that objects would be encrypted with`() {
        var flaws = Flaws()
        eachRow { _, method, target, headers in
            for name in [
                "x-goog-encryption-key", "X-Goog-Copy-Source-Encryption-Key", "x-goog-encryption-kms-key-name",
            ] {
                var all = headers
                all.add(name, "k")
                flaws.check(refusal(method, target, all), 501, naming: name, "\(method) \(target)")
            }
        }
        #expect(flaws.all == [])
    }

    @Test func `The members of a body are those of the row`() {
        var flaws = Flaws()
        for (api, route) in Self.rows where !route.members.isEmpty {
            let target = Self.target(api, route)
            for (name, json, status) in Self.values(route.members) {
                var found: GatewayError?
                do { try route.members.check(json) } catch { found = error }
                flaws.check(found, status, naming: name, target)
            }
            #expect(throws: GatewayError.self) { try route.members.check(["strange": nil]) }
        }
        #expect(flaws.all == [])
    }

    /// A value of each member, and the status that refuses it; nil for one that is taken.
    private static func values(_ members: ResourceMembers) -> [(name: String, JSON, status: Int?)] {
        members.flatMap { name, member in
            func values(_ value: JSON, _ status: Int?) -> [(name: String, JSON, status: Int?)] {
                [(name, .object([.init(key: name, value: value)]), status)]
            }
            return switch member {
            case .refused: values(["a": true], 501)
            case .access: values([["entity": "allUsers"]], 400) + values([[:]], 400) + values([], nil)
            case .served(let type), .outputOnly(let type):
                values(value(of: type), nil) + values(other(than: type), 400) + values(nil, nil)
            case .fixed(let value): values(value, nil) + values(value == true ? false : true, 501)
            case .oneOf(let texts): values("strange", 400) + texts.flatMap { values(.string($0), nil) }
            case .members(let inner):
                Self.values(inner).flatMap { _, json, status in values(json, status) } + values(["strange": nil], 400)
                    + values(5, 400)
            case .each(let inner):
                Self.values(inner).flatMap { _, json, status in values([json], status) } + values(5, 400)
                    + values(["a"], 400)
            }
        }
    }

    private static func value(of type: MemberType) -> JSON {
        switch type {
        case .text: "a"
        case .number: 1
        case .flag: true
        case .list, .texts: ["a"]
        case .labels, .object: ["a": "b"]
        }
    }

    private static func other(than type: MemberType) -> JSON {
        switch type {
        case .text, .list, .texts, .labels, .object: 5
        case .number: -1
        case .flag: "true"
        }
    }

    private static func isXML(_ target: String) -> Bool {
        !["/v0", "/storage", "/upload", "/batch", "/internal"].contains { target.hasPrefix($0) }
    }

    @Test(arguments: [
        "x-goog-meta-a", "Content-Language", "x-goog-if-generation-match", "x-amz-meta-a", "X-Forwarded-Proto",
    ])
    func `A header that has two values is refused by name`(name: String) throws {
        for other in [name, name.uppercased()] {
            let headers = HTTPHeaders([.init(name, "0"), .init(other, "1")])
            let error = refusal(.put, "/x/y", headers)
            let called = HTTPServerRequest.googleName(of: other)
            #expect(error?.status == 400 && error?.message.contains("\(called) has two values") == true)
        }
        #expect(refusal(.put, "/x/y", HTTPHeaders([.init(name, "0"), .init(name, "0")])) == nil)
    }

    @Test(arguments: [
        "", "/storage/v1", "//storage//v1/", "/upload", "/upload/storage/v1", "/resumable/upload/storage/v1",
    ])
    func `Clients may leave out the start of a path, and put slashes into it`(start: String) throws {
        let isUpload = start.contains("upload")
        for (query, methods) in [
            ("uploadType=resumable", [Method.post]), ("upload_id=u", isUpload ? [.put, .post] : [.post]),
        ] {
            for method in methods {
                let request = try request(method, "\(start)/b/x/o?name=y&\(query)")
                #expect(request.target.api == .cloud && request.target.path.suffix(3) == ["b", "x", "o"])
                #expect(try request.allowedRoute().selector?.name == (query.hasPrefix("upload_id") ? "upload_id" : nil))
            }
        }
    }

    // MARK: - Requests that no row is about

    @Test(
        arguments: [
            "/storage/v1/projects/p/x", "/storage/v2/b/x/o/y", "/upload/x/y", "/download/x/y", "/resumable/x/y",
            "/batch/x/y", "/batch", "/upload/storage/v1/b/x/o/y", "/storage", "/upload", "/v0/x", "/v0/b/x",
            "/storage/v1/b/x/strange", "/storage/v1/b/x/o/y/strange", "/storage/v1/b/x/o/y/moveTo/b/z",
        ])
    func `A path of an API is never an object of a bucket`(path: String) {
        for method in [Method.put, .delete, .post, .get] where path != "/batch" || method != .post {
            guard let route = try? request(method, path).allowedRoute() else {
                #expect(refusal(method, path)?.status == 404, "\(method)")
                continue
            }
            // It is refused by its handler.
            #expect(route.unknown == .unchecked, "\(method) \(path)")
        }
    }

    @Test(arguments: [
        "/b", "/storage/v1/b", "/b/x/o/y", "/storage/v1/b/x/o/y", "/v0/b/x/o", "/v0/b/x/o/y", "/x", "/x/y",
    ])
    func `A method that a path does not have is refused`(path: String) {
        let methods = Method.allCases.filter { refusal($0, path)?.status == 405 }
        #expect(methods.contains(.options))
        #expect(methods.contains(.patch) == ["/b", "/storage/v1/b", "/v0/b/x/o", "/x"].contains(path))
    }

    @Test(arguments: [
        (Method.get, "/storage/v1/b/x/o", "versions=bogus"), (.get, "/storage/v1/b/x/o", "projection=bogus"),
        (.get, "/storage/v1/b/x/o", "alt=bogus"), (.get, "/storage/v1/b/x/o", "alt=media"),
        (.get, "/storage/v1/b/x/o", "prettyPrint=bogus"), (.get, "/storage/v1/b/x/o", "softDeleted=bogus"),
        (.get, "/storage/v1/b/x/o", "maxResults=-1"), (.get, "/storage/v1/b/x/o", "maxResults=+1"),
        (.get, "/storage/v1/b/x/o", "maxResults=01"), (.get, "/storage/v1/b/x/o", "maxResults=1.5"),
        (.get, "/storage/v1/b/x/o", "maxResults=99999999999999999999"),
        (.get, "/storage/v1/b/x/o", "uploadType=bogus"),
        (.post, "/b/x/o/y/rewriteTo/b/x/o/z", "maxBytesRewrittenPerCall=-1"),
        (.post, "/b/x/o/y/rewriteTo/b/x/o/z", "ifGenerationMatch=a"),
        (.post, "/b/x/o/y/rewriteTo/b/x/o/z", "sourceGeneration=+1"),
        (.post, "/b/x/o/y/rewriteTo/b/x/o/z", "projection=a"), (.get, "/b/x/o/y", "generation=-1"),
        (.get, "/b/x/o/y", "ifMetagenerationNotMatch=1x"), (.get, "/b/x/o/y", "projection=bogus"),
        (.get, "/b/x/o/y", "prettyPrint=2"), (.get, "/v0/b/x/o", "maxResults=-1"),
        (.get, "/v0/b/x/o/y", "alt=bogus"), (.get, "/b/x/o/y", "alt=proto"),
        (.get, "/b/x/o/y", "generation=1&generation=2"), (.get, "/x/y", "response-content-type=a%0D%0AX-B: c"),
    ])
    func `A param with a value of another type is refused by name`(method: Method, path: String, query: String) {
        let error = refusal(method, "\(path)?\(query)")
        let name = String(query.prefix { $0 != "=" })
        #expect(error?.status == 400 && error?.message.contains(name) == true)
    }

    @Test func `What Python's client sends of a bucket that is not soft-deleted is served`() {
        let bucket = "/storage/v1/b/x?projection=noAcl&prettyPrint=false"
        #expect(refusal(.get, "\(bucket)&softDeleted=False&generation=None") == nil)
        #expect(refusal(.get, "\(bucket)&softDeleted=True&generation=5")?.message.contains("generation") == true)
        #expect(refusal(.get, "\(bucket)&softDeleted=True&generation=None")?.message.contains("softDeleted") == true)
    }

    @Test func `A batch has requests about metadata only`() throws {
        for (method, target, isServed) in [
            (Method.get, "/storage/v1/b/x/o/y", true), (.delete, "/storage/v1/b/x/o/y", true), (.get, "/b", true),
            (.patch, "/b/x", true), (.get, "/b/x/o/y?alt=media", false), (.post, "/upload/storage/v1/b/x/o", false),
            (.post, "/b/x/o", false), (.post, "/batch", false), (.get, "/v0/b/x/o", false), (.get, "/x/y", false),
        ] {
            var status: Int?
            do { _ = try request(method, target).allowedRoute(isInBatch: true) } catch { status = error.status }
            #expect(status == (isServed ? nil : 400), "\(method) \(target)")
        }
    }
}
