import CCurl

/// A request without a response. Contains no paths, queries or header values, which may be secret.
package struct HTTPError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// No usable libcurl is installed.
        case libraryMissing(String)
        /// libcurl has refused an option that the request needs: its name, and the reason.
        case optionRefused(String, String)
        /// The transfer thread could not be started.
        case noThread(String)
        case badURL
        /// The method or a header of the request is invalid.
        case badRequest(String)
        case cannotResolve
        case cannotConnect(String)
        case tls(String)
        /// The connection was reset, closed or garbled before the response was complete.
        case connectionBroken(String)
        case connectTimedOut
        /// No byte was transferred for too long.
        case stalled
        /// The request was sent, but no response has begun in time.
        case noAnswer
        /// The total limit has passed.
        case deadlineExceeded
        /// The response or its header exceeds the limit, in bytes.
        case tooLarge(limit: Int)
        /// The source or the sink failed.
        case bodyFailed(String)
        case cancelled
        /// Another error code of libcurl.
        case other(code: Int32, String)
    }

    package var kind: Kind
    /// The host and port of the URL.
    package var host: String
    /// False only if no part of the request was sent.
    package var mayHaveReachedServer: Bool

    package init(_ kind: Kind, host: String, mayHaveReachedServer: Bool = false) {
        (self.kind, self.host, self.mayHaveReachedServer) = (kind, host, mayHaveReachedServer)
    }

    /// Whether a retry can succeed.
    package var isRetryable: Bool {
        switch kind {
        case .noThread, .cannotResolve, .cannotConnect, .connectionBroken, .connectTimedOut, .stalled, .noAnswer: true
        case .libraryMissing, .optionRefused, .badURL, .badRequest, .tls, .deadlineExceeded, .tooLarge, .bodyFailed,
            .cancelled,
            .other:
            false
        }
    }

    package var description: String { host.isEmpty ? sentence : "\(host): \(sentence)" }

    private var sentence: String {
        switch kind {
        case .libraryMissing(let reason):
            """
            libcurl is not on this machine (\(reason)): install the package libcurl4 (Debian, Ubuntu), \
            libcurl (Fedora, Alpine) or curl (Arch)
            """
        case .optionRefused(let option, let reason): "libcurl does not take \(option): \(reason)"
        case .noThread(let reason): reason
        case .badURL: "not an http or https URL that can be asked for"
        case .badRequest(let reason): "the request cannot be sent: \(reason)"
        case .cannotResolve: "the name cannot be resolved"
        case .cannotConnect(let reason): "no connection: \(reason)"
        case .tls(let reason): "no secure connection: \(reason)"
        case .connectionBroken(let reason): "the connection broke: \(reason)"
        case .connectTimedOut: "no connection in time"
        case .stalled: "the transfer stalled"
        case .noAnswer: "no answer in time"
        case .deadlineExceeded: "not done in time"
        case .tooLarge(let limit): "the answer is larger than \(limit) bytes"
        case .bodyFailed(let reason): reason
        case .cancelled: "cancelled"
        case .other(let code, let text): "\(text) (libcurl \(code))"
        }
    }
}

extension HTTPError.Kind {
    static var outOfMemory: Self { .other(code: Int32(CCURL_OUT_OF_MEMORY.rawValue), "out of memory") }
}
