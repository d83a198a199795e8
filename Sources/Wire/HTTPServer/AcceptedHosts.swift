import HTTPText
import Platform

/// The host names that requests may address the server by.
///
/// Protects against DNS rebinding: a web page can point its own name at this machine, but its requests carry that name.
package struct AcceptedHosts: Sendable {
    private let names: [String]

    /// Accepts `localhost`, all loopback addresses, and `names`: names, IPv4 addresses, or IPv6 addresses in brackets.
    package init(andAlso names: [String] = []) { self.names = names }

    /// Whether a Host header may have this name, without a port.
    package static func isName(_ name: String) -> Bool {
        !name.isEmpty && name != "*" && host(of: name).map(String.init) == name
    }

    func adding(_ name: String) -> AcceptedHosts { AcceptedHosts(andAlso: names + [name]) }

    /// Ignores the port, which differs with port forwarding.
    func accepts(_ host: Substring) -> Bool {
        SocketAddress(host: host.lowercased())?.isLoopback == true || names.contains { isSameName($0, host) }
    }

    /// Returns the host of a Host header, or nil where it is malformed.
    static func host(of value: String) -> Substring? {
        let bytes = value.utf8
        let isLiteral = bytes.first == 0x5B
        let end: String.Index
        if isLiteral {
            guard let bracket = bytes.firstIndex(of: 0x5D) else { return nil }
            end = bytes.index(after: bracket)
        } else {
            end = bytes.firstIndex(of: 0x3A) ?? bytes.endIndex
        }
        let host = bytes[..<end], port = bytes[end...]
        guard port.isEmpty || port.first == 0x3A && isPort(port.dropFirst()) else { return nil }
        let inner = isLiteral ? host.dropFirst().dropLast() : host
        guard inner.allSatisfy({ isHostCharacter($0) || isLiteral && $0 == 0x3A }) else { return nil }
        return Substring(host)
    }

    /// Whether the digits of a port are no greater than 65535. A port may have no digits.
    private static func isPort(_ digits: Substring.UTF8View) -> Bool {
        digits.allSatisfy { 0x30...0x39 ~= $0 } && (digits.isEmpty || UInt16(Substring(digits)) != nil)
    }

    private static func isHostCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E, 0x25: true
        // ! $ & ' ( ) * + , ; =
        case 0x21, 0x24, 0x26...0x2C, 0x3B, 0x3D: true
        default: false
        }
    }
}
