import HTTPClient
import TestSupport
import Synchronization

/// A source that calls a closure for each read.
final class ScriptedSource: HTTPBodySource {
    typealias Script =
        @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64, _ wake: HTTPWaker) -> HTTPBodyRead

    let count: Int64
    let ended = Signal()
    private let script: Script

    init(count: Int64, _ script: @escaping Script) {
        self.count = count
        self.script = script
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, wake: HTTPWaker) -> HTTPBodyRead {
        script(buffer, offset, wake)
    }

    func transferEnded() { ended.fire() }
}

/// A sink that calls a closure for each write.
struct ScriptedSink: HTTPBodySink {
    let script: @Sendable (_ bytes: UnsafeRawBufferPointer, _ wake: HTTPWaker) -> HTTPBodyWrite

    init(_ script: @escaping @Sendable (_ bytes: UnsafeRawBufferPointer, _ wake: HTTPWaker) -> HTTPBodyWrite) {
        self.script = script
    }

    func write(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite { script(bytes, wake) }
}
