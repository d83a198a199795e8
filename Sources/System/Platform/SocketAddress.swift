import Glibc

/// An IPv4 or IPv6 address with its port.
package struct SocketAddress: Sendable {
    private var storage: sockaddr_storage
    private var length: socklen_t

    /// Parses `127.0.0.1:0`, `[::1]:8080` or `localhost:8080`. Nil for anything else: no name is resolved.
    package init?(_ text: String) {
        guard let colon = text.utf8.lastIndex(of: 0x3A),
            case let port = text[text.utf8.index(after: colon)...], !port.isEmpty,
            port.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let port = UInt16(port)
        else { return nil }
        self.init(host: String(text[..<colon]), port: port)
    }

    /// Parses the host of such a text.
    package init?(host: String, port: UInt16 = 0) {
        if host.hasPrefix("["), host.hasSuffix("]") {
            self.init(v6: String(host.dropFirst().dropLast()), port)
        } else {
            self.init(v4: host == "localhost" ? "127.0.0.1" : host, port)
        }
    }

    /// An address without a port: IPv6 in brackets with or without a zone, or IPv4 in any notation of `inet_aton`, such
    /// as `127.1` or `0x7f000001`.
    package init?(numericHost host: String) {
        if host.hasPrefix("["), host.hasSuffix("]") {
            self.init(v6: String(host.dropFirst().dropLast().prefix { $0 != "%" }), 0)
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            guard host.utf8.allSatisfy({ $0 > 0x20 }), inet_aton(host, &address.sin_addr) != 0 else { return nil }
            self.init(copying: address)
        }
    }

    private init?(v4 host: String, _ port: UInt16) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return nil }
        self.init(copying: address)
    }

    private init?(v6 host: String, _ port: UInt16) {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        guard inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { return nil }
        self.init(copying: address)
    }

    private init<Address>(copying address: Address) {
        storage = sockaddr_storage()
        length = socklen_t(MemoryLayout<Address>.size)
        withUnsafeBytes(of: address) { bytes in
            withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: bytes) }
        }
    }

    /// Nil if the socket has no peer.
    package init?(ofPeerOf socket: Descriptor) { self.init(of: socket.raw, by: getpeername) }

    /// The socket's own address or its peer's, depending on `ask`. Nil if it has none.
    init?(
        of socket: Int32, by ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) {
        storage = sockaddr_storage()
        length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { [length] pointer in
            var size = length
            return pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (ask(socket, $0, &size), size) }
        }
        guard result.0 == 0 else { return nil }
        length = result.1
    }

    var family: Int32 { Int32(storage.ss_family) }

    package var port: UInt16 {
        // Both families store the port at the same offset.
        withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
    }

    /// The host in the notation of URLs, without the port.
    package var host: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isV6 = family == AF_INET6
        withUnsafeBytes(of: storage) { bytes in
            let address = bytes.baseAddress.map { $0 + (isV6 ? 8 : 4) }
            _ = inet_ntop(family, address, &text, socklen_t(text.count))
        }
        let name = text.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return isV6 ? "[\(name)]" : name
    }

    /// Whether the address is on this machine only.
    package var isLoopback: Bool {
        withUnsafeBytes(of: storage) { bytes in
            guard family == AF_INET6 else { return bytes[4] == 127 }
            let address = bytes[8..<24]
            let isMapped = address.prefix(10).allSatisfy { $0 == 0 } && bytes[18] == 0xFF && bytes[19] == 0xFF
            return isMapped ? bytes[20] == 127 : address.dropLast().allSatisfy { $0 == 0 } && address.last == 1
        }
    }

    /// Whether the address is reached only from the same network: 169.254.0.0/16 or fe80::/64.
    package var isLinkLocal: Bool { host.hasPrefix("169.254.") || host.hasPrefix("[fe80::") }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String { "\(host):\(port)" }
}
