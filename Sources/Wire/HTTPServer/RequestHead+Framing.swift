import HTTPText

/// The rules of RFC 9112, section 6, as strict as it allows: where two readers of a request could disagree about its
/// end, the request is refused.
extension RequestHead {
    /// The value of Content-Length, 0 without one, and `Int64.max` where it overflows. Checks that it is the only
    /// framing.
    func checkedLength() throws(Refusal) -> Int64 {
        let values = headers.all("Content-Length")
        guard values.count <= 1 else { throw Refusal(400) }
        guard let value = values.first else { return 0 }
        guard headers.all("Transfer-Encoding").isEmpty else { throw Refusal(400) }
        guard let length = Int64(clampingDigits: value) else { throw Refusal(400) }
        return length
    }

    /// The framing of a request with this `checkedLength`. A GET and a HEAD have no body.
    func framing(_ method: HTTPServerRequest.Method, _ length: Int64) throws(Refusal) -> BodyFraming {
        let codings = headers.all("Transfer-Encoding")
        guard codings.isEmpty || method.mayHaveBody && !isHTTP10 else { throw Refusal(400) }
        guard codings.isEmpty else { return try chunked(codings) }
        guard length == 0 || method.mayHaveBody && length < .max else { throw Refusal(413) }
        return .length(length)
    }

    /// Throws 501 for codings before a final `chunked`, and 400 for anything else but `chunked`.
    private func chunked(_ codings: [String]) throws(Refusal) -> BodyFraming {
        if codings.count == 1, isSameName(codings[0], "chunked") { return .chunked }
        let names = headers.list("Transfer-Encoding")
        let isUnsupported = names.count > 1 && names.firstIndex { isSameName($0, "chunked") } == names.count - 1
        throw Refusal(isUnsupported ? 501 : 400)
    }

    /// Whether the client waits for 100 (RFC 9110, section 10.1.1). HTTP/1.0 has no interim answers.
    func expectsContinue(_ method: HTTPServerRequest.Method, _ framing: BodyFraming) throws(Refusal) -> Bool {
        let values = headers.all("Expect")
        if values.isEmpty || isHTTP10 && method.mayHaveBody { return false }
        guard method.mayHaveBody, values.count == 1, isSameName(values[0], "100-continue") else { throw Refusal(417) }
        return framing != .length(0)
    }
}

extension HTTPServerRequest.Method {
    var mayHaveBody: Bool { self != .get && self != .head }
}
