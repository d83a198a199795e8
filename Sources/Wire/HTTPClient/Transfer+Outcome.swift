import CCurl
import Platform

extension Transfer {
    /// The outcome of a transfer that libcurl ended with this code.
    func outcome(_ code: Int32) -> Outcome {
        if let failure { return failed(failure) }
        guard easy != nil, code == 0 else { return failed(kind(of: ccurl_code(UInt32(bitPattern: code)))) }
        // libcurl treats the end of a connection within the header as the end of the header.
        guard answer.isHeadComplete else { return failed(.connectionBroken("closed within the head of the answer")) }
        return .success(
            HTTPResponse(status: answer.status, headers: answer.headers, body: answer.body, bytesSent: sent))
    }

    private func kind(of code: ccurl_code) -> HTTPError.Kind {
        switch code {
        // libcurl does not report that it could not open a socket or a file.
        case CCURL_COULDNT_RESOLVE_HOST, CCURL_COULDNT_RESOLVE_PROXY, CCURL_COULDNT_CONNECT, CCURL_SSL_CACERT_BADFILE:
            Descriptor.shortage.map { .cannotConnect($0.reason) } ?? kind(ofDescribed: code)
        default: kind(ofDescribed: code)
        }
    }

    private func kind(ofDescribed code: ccurl_code) -> HTTPError.Kind {
        switch code {
        case CCURL_URL_MALFORMAT, CCURL_LOGIN_DENIED: .badURL
        case CCURL_UNSUPPORTED_PROTOCOL where !hasSentHead: .tls("this libcurl does not know https")
        case CCURL_UNSUPPORTED_PROTOCOL, CCURL_WEIRD_SERVER_REPLY: .connectionBroken("the answer is not HTTP")
        case CCURL_COULDNT_RESOLVE_HOST: .cannotResolve
        case CCURL_COULDNT_RESOLVE_PROXY: .cannotConnect("the proxy's name cannot be resolved")
        case CCURL_COULDNT_CONNECT, CCURL_INTERFACE_FAILED: .cannotConnect(systemReason ?? standardText(code))
        case CCURL_PROXY_ERROR: .cannotConnect("the proxy refused")
        case CCURL_SEND_ERROR, CCURL_RECV_ERROR: proxyRefusal ?? .connectionBroken(systemReason ?? standardText(code))
        case CCURL_GOT_NOTHING: .connectionBroken("closed without an answer")
        case CCURL_PARTIAL_FILE: .connectionBroken("closed within the answer")
        case CCURL_HTTP2, CCURL_HTTP2_STREAM, CCURL_SEND_FAIL_REWIND: .connectionBroken(standardText(code))
        case CCURL_TOO_LARGE: .tooLarge(limit: IncomingResponse.largestHead)
        case CCURL_SSL_CONNECT_ERROR where isBroken: .connectionBroken("closed while it was being secured")
        case CCURL_SSL_CONNECT_ERROR, CCURL_SSL_ENGINE_NOTFOUND, CCURL_SSL_ENGINE_SETFAILED, CCURL_SSL_CERTPROBLEM,
            CCURL_SSL_CIPHER, CCURL_PEER_FAILED_VERIFICATION, CCURL_USE_SSL_FAILED, CCURL_SSL_ENGINE_INITFAILED,
            CCURL_SSL_CACERT_BADFILE, CCURL_SSL_SHUTDOWN_FAILED, CCURL_SSL_CRL_BADFILE, CCURL_SSL_ISSUER_ERROR,
            CCURL_SSL_PINNEDPUBKEYNOTMATCH, CCURL_SSL_INVALIDCERTSTATUS, CCURL_SSL_CLIENTCERT:
            .tls(ownText ?? standardText(code))
        default: .other(code: Int32(bitPattern: code.rawValue), standardText(code))
        }
    }

    private var hasSentHead: Bool { easy.map { ccurl_get_long($0, CCURL_REQUEST_SIZE) > 0 } ?? false }

    private var systemReason: String? {
        guard let easy else { return nil }
        let number = ccurl_get_long(easy, CCURL_OS_ERRNO)
        return number > 0 ? SystemError(code: Int32(number)).reason : nil
    }

    private var proxyRefusal: HTTPError.Kind? {
        guard let easy, !answer.hasBegun else { return nil }
        let status = ccurl_get_long(easy, CCURL_HTTP_CONNECTCODE)
        return status == 0 || (200..<300).contains(status) ? nil : .cannotConnect("the proxy answered \(status)")
    }

    /// Whether the peer closed the connection during the TLS handshake.
    private var isBroken: Bool {
        let signs = [
            "reset by peer", "SSL_ERROR_SYSCALL", "unexpected eof", "Broken pipe", "properly terminated",
            "pull function", "push function",
        ]
        return ownText.map { text in signs.contains { text.has($0) } } ?? false
    }

    /// libcurl's error text. Unused where it could contain a URL.
    private var ownText: String? { errorBuffer.map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }

    private func standardText(_ code: ccurl_code) -> String {
        String(cString: ccurl_easy_strerror(Int32(bitPattern: code.rawValue)))
    }
}
