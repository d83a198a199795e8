import Dispatch
import Platform
import Glibc
import Synchronization

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argc: UnsafeMutablePointer<Int32>,
    _ argv: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// libFuzzer over one target, which the environment names; all that follows the program's name is libFuzzer's.
@main enum Fuzz {
    typealias Target = @Sendable (UnsafeRawBufferPointer) -> Void

    static let targets: [String: Target] = [
        "answers": fuzzAnswers, "bodies": fuzzBodies, "database": fuzzDatabase, "framing": fuzzFraming,
        "gateway": fuzzGateway, "hiding": fuzzHiding, "json": fuzzJSON, "messages": fuzzMessages,
        "multipart": fuzzMultipart,
        "params": fuzzParams, "references": fuzzReferences, "requests": fuzzRequests, "secrets": fuzzSecrets,
        "slots": fuzzSlots,
    ]

    static let target = getenv("FUZZ_TARGET").flatMap { targets[String(cString: $0)] }

    static func main() {
        guard target != nil else {
            fail("FUZZ_TARGET has to be one of \(targets.keys.sorted().joined(separator: ", ")).")
        }
        var (argc, argv) = (CommandLine.argc, CommandLine.unsafeArgv)
        exit(
            runDriver(&argc, &argv) { start, count in
                Fuzz.target?(UnsafeRawBufferPointer(start: start, count: count))
                return 0
            })
    }
}

/// Ends the process with a finding unless the promise is kept.
func expect(_ isKept: Bool, _ promise: @autoclosure () -> String, line: Int = #line, file: StaticString = #fileID) {
    if !isKept { fail("\(file):\(line): not kept: \(promise())") }
}

func fail(_ sentence: String) -> Never {
    let line = Array((sentence + "\n").utf8)
    _ = write(STDERR_FILENO, line, line.count)
    abort()
}

/// The value, or nil where it throws what it may throw.
func attempt<Value, Failure>(_ body: () throws(Failure) -> Value) -> Value? {
    do throws(Failure) { return try body() } catch { return nil }
}

/// Returns when the work is done.
func onLoop<Value: Sendable>(_ work: @escaping @Loop @Sendable () async -> Value) -> Value {
    let (done, result) = (DispatchSemaphore(value: 0), Answer<Value>())
    Task { @Loop in
        let value = await work()
        result.value.withLock { $0 = value }
        done.signal()
    }
    done.wait()
    guard let value = result.value.withLock({ $0 }) else { fail("the loop has ended") }
    return value
}

private final class Answer<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
}

/// Takes an input apart from its front; what is missing at the end is zero.
struct Feed {
    private(set) var rest: Slice<UnsafeRawBufferPointer>

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func number(_ width: Int) -> UInt64 {
        (0..<width).reduce(0) { number, _ in number << 8 | UInt64(byte()) }
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Up to the next line feed, which goes too.
    mutating func line() -> String {
        let line = rest.prefix { $0 != 0x0A }
        rest = rest.dropFirst(line.count + 1)
        return String(decoding: line, as: UTF8.self)
    }

    mutating func all() -> [UInt8] { bytes(rest.count) }

    /// The rest, cut into pieces of lengths that `seed` draws.
    func pieces(_ seed: UInt8) -> [UnsafeRawBufferPointer] {
        var (state, cut, pieces) = (UInt64(seed), rest, [UnsafeRawBufferPointer]())
        while !cut.isEmpty {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let count = seed == 0 ? 1 : 1 + Int(state >> 33 % UInt64(seed))
            pieces.append(UnsafeRawBufferPointer(rebasing: cut.prefix(count)))
            cut = cut.dropFirst(count)
        }
        return pieces
    }
}

extension [UInt8] {
    /// The text, where it is UTF-8.
    var text: String? { String(validating: self, as: UTF8.self) }
}
