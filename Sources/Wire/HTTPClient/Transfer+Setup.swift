import CCurl
import HTTPText

extension Transfer {
    /// The maximum size of a body that is sent with the header in one write; larger ones are read in place.
    static let largestCopiedBody = 64 << 10

    /// A libcurl handle for the request; nil after an error, which is in `failure`.
    func prepare() -> OpaquePointer? {
        guard let easy = ccurl_easy_init() else { return nil }
        self.easy = easy
        setCallbacks(easy)
        setManners(easy)
        setSecurity(easy)
        set(easy, CCURL_URL, request.url)
        setMethod(easy)
        setHeaders(easy)
        return failure == nil ? easy : nil
    }

    private func setCallbacks(_ easy: OpaquePointer) {
        var option: Int32 = 0
        check(ccurl_set_callbacks(easy, [ccurl_callbacks(for: self)], &option), option)
        let code = ccurl_set_sending(easy, [ccurl_callbacks(for: self)])
        check(code, CCURL_PREREQFUNCTION, isOptional: true)
        // Older libraries cannot prevent a resend, but do not resend on a new connection.
        if code != 0, request.isSentOnce { set(easy, CCURL_FRESH_CONNECT, 1) }
        let errors = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CCURL_ERROR_SIZE.rawValue))
        errors.initialize(repeating: 0, count: Int(CCURL_ERROR_SIZE.rawValue))
        errorBuffer = errors
        check(ccurl_set_error_buffer(easy, errors), CCURL_ERRORBUFFER)
    }

    private func setManners(_ easy: OpaquePointer) {
        set(easy, CCURL_NOSIGNAL, 1)
        set(easy, CCURL_NOPROGRESS, 0)
        // Ending a transfer does not wait for name resolution.
        set(easy, CCURL_QUICK_EXIT, 1, isOptional: true)
        set(easy, CCURL_FOLLOWLOCATION, 0)
        set(easy, CCURL_HTTP09_ALLOWED, 0)
        set(easy, CCURL_PATH_AS_IS, 1)
        set(easy, CCURL_TCP_KEEPALIVE, 1)
        set(easy, CCURL_SUPPRESS_CONNECT_HEADERS, 1)
        set(easy, CCURL_HTTP_VERSION, Int(CCURL_HTTP_VERSION_2TLS.rawValue), isOptional: true)
        // libcurl's own limit would include the wait for a free connection.
        set(easy, CCURL_CONNECTTIMEOUT_MS, Int(Int32.max))
        if request.sink != nil { set(easy, CCURL_BUFFERSIZE, 128 << 10) }
    }

    private func setSecurity(_ easy: OpaquePointer) {
        let environment = loop.environment
        let isSecure = request.url.prefix(6).lowercased() == "https:"
        set(easy, CCURL_PROTOCOLS, Int(CCURL_PROTOCOL_HTTP.rawValue | CCURL_PROTOCOL_HTTPS.rawValue))
        set(easy, CCURL_DISALLOW_USERNAME_IN_URL, 1)
        set(easy, CCURL_SSL_VERIFYPEER, 1)
        set(easy, CCURL_SSL_VERIFYHOST, 2)
        set(easy, CCURL_SSLVERSION, Int(CCURL_SSLVERSION_TLSV1_2.rawValue))
        set(easy, CCURL_PROXY, proxy(isSecure: isSecure))
        set(easy, CCURL_NOPROXY, environment.direct)
        if let file = environment.certificateFile {
            set(easy, CCURL_CAINFO, file)
            set(easy, CCURL_PROXY_CAINFO, file)
        }
        if let directory = environment.certificateDirectory {
            set(easy, CCURL_CAPATH, directory)
            set(easy, CCURL_PROXY_CAPATH, directory)
        }
    }

    /// Empty for a server on this machine, so that its tokens never leave the machine.
    private func proxy(isSecure: Bool) -> String {
        if request.host.isLoopbackAuthority { return "" }
        return isSecure ? loop.environment.secureProxy : loop.environment.proxy
    }

    private func setMethod(_ easy: OpaquePointer) {
        if let source {
            set(easy, CCURL_UPLOAD, 1)
            set(easy, CCURL_INFILESIZE_LARGE, source.count)
            set(easy, CCURL_UPLOAD_BUFFERSIZE, sendBuffer(for: source.count))
        } else if case .bytes(let bytes) = request.body {
            setBody(easy, bytes)
        } else if request.method == "HEAD" {
            set(easy, CCURL_NOBODY, 1)
        } else if ["POST", "PUT", "PATCH"].contains(request.method) {
            setBody(easy, [])
        } else {
            set(easy, CCURL_HTTPGET, 1)
        }
        if request.method != "HEAD" { set(easy, CCURL_CUSTOMREQUEST, request.method) }
    }

    private func setBody(_ easy: OpaquePointer, _ bytes: [UInt8]) {
        set(easy, CCURL_POSTFIELDSIZE_LARGE, Int64(bytes.count))
        let option = Int32(CCURL_COPYPOSTFIELDS.rawValue)
        let code = bytes.isEmpty ? ccurl_set_bytes(easy, option, "") : ccurl_set_bytes(easy, option, bytes)
        check(code, CCURL_COPYPOSTFIELDS)
    }

    /// Decreases with the number of transfers.
    private func sendBuffer(for count: Int64) -> Int {
        let share = min(512 << 10, (1 << 20) / (loop.runningCount + 1))
        return max(16 << 10, Int(min(count, Int64(share))))
    }

    /// A name with only a colon makes libcurl omit its own field.
    private func setHeaders(_ easy: OpaquePointer) {
        var lines = request.headers.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        lines.append("Expect:")
        if request.headers["Content-Type"] == nil { lines.append("Content-Type:") }
        for line in lines {
            guard let longer = ccurl_list_append(headerList, line) else { return failure = .outOfMemory }
            headerList = longer
        }
        check(ccurl_set_headers(easy, headerList), CCURL_HTTPHEADER)
    }
}

// MARK: - Options

extension Transfer {
    private func set(_ easy: OpaquePointer, _ option: ccurl_option, _ value: Int, isOptional: Bool = false) {
        check(ccurl_set_long(easy, Int32(option.rawValue), value), option, isOptional: isOptional)
    }

    private func set(_ easy: OpaquePointer, _ option: ccurl_option, _ value: Int64) {
        check(ccurl_set_offset(easy, Int32(option.rawValue), value), option)
    }

    private func set(_ easy: OpaquePointer, _ option: ccurl_option, _ value: String) {
        check(ccurl_set_bytes(easy, Int32(option.rawValue), value), option)
    }

    private func check(_ code: Int32, _ option: ccurl_option, isOptional: Bool = false) {
        let isMissing = [CCURL_UNKNOWN_OPTION, CCURL_NOT_BUILT_IN, CCURL_UNSUPPORTED_PROTOCOL]
            .contains(ccurl_code(UInt32(bitPattern: code)))
        // Older or smaller builds of the library lack this option.
        if isOptional && isMissing { return }
        check(code, Int32(option.rawValue))
    }

    private func check(_ code: Int32, _ option: Int32) {
        guard code != 0, failure == nil else { return }
        failure = .optionRefused(
            String(cString: ccurl_option_name(option)), String(cString: ccurl_easy_strerror(code)))
    }
}

func ccurl_get_long(_ easy: OpaquePointer, _ info: ccurl_info) -> Int { ccurl_get_long(easy, Int32(info.rawValue)) }
func ccurl_get_offset(_ easy: OpaquePointer, _ info: ccurl_info) -> Int64 {
    ccurl_get_offset(easy, Int32(info.rawValue))
}
