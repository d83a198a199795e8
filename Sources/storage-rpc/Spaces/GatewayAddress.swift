import CommandLine
import JSONText
import Platform

/// The address of a gateway in the forms that its clients need.
struct GatewayAddress {
    /// `HOST:PORT`.
    private let place: String

    /// - Parameter listening: `HOST:PORT`. If the host is the wildcard address, clients of this machine use the
    ///   loopback address.
    init(_ listening: String) {
        let loopbacks = [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")]
        let every = loopbacks.first { listening.hasPrefix($0.0) }
        place = every.map { $0.1 + listening.dropFirst($0.0.count) } ?? listening
    }

    /// Clients of Google take a URL, those of Firebase a host and a port.
    private var variables: [(name: String, value: String)] {
        [("STORAGE_EMULATOR_HOST", "http://\(place)"), ("FIREBASE_STORAGE_EMULATOR_HOST", place)]
    }

    /// One `NAME=VALUE` per line, for shells, `$GITHUB_ENV` and `docker run --env-file`.
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
