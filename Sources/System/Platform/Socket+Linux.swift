import Glibc

extension Socket {
    /// Acknowledges at once what a connection has received. Otherwise Linux delays that by 40 ms if it expects an answer to
    /// send it with.
    package static func acknowledge(_ socket: Int32) { setOption(socket, Int32(IPPROTO_TCP), TCP_QUICKACK) }
}
