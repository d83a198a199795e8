import CommandLine
import JSONText
import Platform

/// Where the clients of a gateway find it.
struct GatewayAddress {
    /// `HOST:PORT`.
    private let place: String

    /// - Parameter listening: `HOST:PORT`. Where the host stands for all addresses, clients of this machine take the
    ///   loopback.
    init(_ listening: String) {
        let loopbacks = [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")]
        let every = loopbacks.first { listening.hasPrefix($0.0) }
        place = every.map { $0.1 + listening.dropFirst($0.0.count) } ?? listening
    }

    /// Clients of Google take a URL, and those of Firebase a host and its port.
    private var variables: [(name: String, value: String)] {
        [("STORAGE_EMULATOR_HOST", "http://\(place)"), ("FIREBASE_STORAGE_EMULATOR_HOST", place)]
    }

    /// `NAME=VALUE`, a variable a line: what shells, `$GITHUB_ENV` and `docker run --env-file` take.
    var lines: String { variables.map { "\($0.name)=\($0.value)" }.joined(separator: "\n") }

    func text(_ form: Announcement, root: String?) -> String {
        switch form {
        case .lines: lines
        case .json:
            JSON.object(
                .init(present: [
                    "environment": .object(variables.map { .init(key: $0.name, value: .string($0.value)) }),
                    "pid": JSON(Int64(CurrentProcess.id)), "root": root.map(JSON.string),
                ])
            ).text
        }
    }
}
