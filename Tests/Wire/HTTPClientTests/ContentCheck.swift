import Glibc
import HTTPClient
import Synchronization
import Testing

/// Returns the error of a request that must fail.
func failure(
    of request: HTTPRequest, by client: HTTPClient = HTTPClient(.none),
    _ location: SourceLocation = #_sourceLocation
) async throws -> HTTPError {
    do throws(HTTPError) {
        let response = try await client.perform(request)
        Issue.record("answered with \(response.status)", sourceLocation: location)
        throw HTTPError(.cancelled, host: "")
    } catch {
        return error
    }
}

extension HTTPEnvironment {
    static var none: Self { Self { _ in nil } }
}

extension HTTPClient {
    convenience init(_ environment: HTTPEnvironment) { self.init(environment: environment) }
}

/// A temporary file of a test.
final class ScratchFile: Sendable {
    let descriptor: Int32

    init(_ bytes: [UInt8]) throws {
        var template = Array("/tmp/http-tests-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        unlink(template)
        try #require(descriptor >= 0 && pwrite(descriptor, bytes, bytes.count, 0) == bytes.count)
    }

    deinit { close(descriptor) }
}

/// Bytes that depend on their offset: a sequence whose period is a prime number.
func pattern(_ count: Int) -> [UInt8] {
    let period = 65_521
    let one = (0..<period).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        for start in stride(from: 0, to: count, by: period) {
            let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[start...])
            one.withUnsafeBytes { rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(rest.count))) }
        }
        filled = count
    }
}

/// Compares consecutive pieces with the expected bytes.
final class PieceComparison: Sendable {
    private let expected: [UInt8]
    private let state = Mutex((count: 0, isRight: true))

    init(_ expected: [UInt8]) { self.expected = expected }

    var isComplete: Bool { state.withLock { $0.isRight && $0.count == expected.count } }

    func take(_ piece: UnsafeRawBufferPointer) {
        state.withLock { state in
            let next = expected[state.count...].prefix(piece.count)
            let isSame = next.withUnsafeBytes { $0.count == piece.count && areEqual($0, piece) }
            state = (state.count + piece.count, state.isRight && isSame)
        }
    }
}

extension HTTPError.Kind {
    var isBroken: Bool {
        if case .connectionBroken = self { true } else { false }
    }
}

private func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    guard let first = one.baseAddress, let second = other.baseAddress else { return one.count == other.count }
    return memcmp(first, second, one.count) == 0
}
