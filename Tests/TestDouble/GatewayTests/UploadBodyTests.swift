import HTTPServer
import Platform
import TestSupport
import Testing

@testable import Gateway

/// The blocks that the bytes of a request are passed on in.
@Loop @Suite(.watchdog) struct UploadBodyTests {
    /// Gives bytes in pieces of one size, and then fails or ends.
    private final class Pieces: ByteSource {
        private(set) var left: ArraySlice<UInt8>
        private let piece: Int
        private let mayKeep: (Int) -> Bool
        private let breaks: Bool

        init(_ bytes: [UInt8], by piece: Int, breaks: Bool = false, mayKeep: @escaping (Int) -> Bool = { _ in true }) {
            (left, self.piece, self.breaks, self.mayKeep) = (bytes[...], piece, breaks, mayKeep)
        }

        func read(atMost count: Int) throws -> [UInt8] {
            if left.isEmpty, breaks { throw HTTPRequestBody.Failure.disconnected }
            defer { left = left.dropFirst(min(count, piece)) }
            return Array(left.prefix(min(count, piece)))
        }

        func mayKeep(_ bytes: Int) -> Bool { mayKeep(bytes) }
    }

    private static let granule = 256 << 10
    private static let bytes = noise(9 * granule + 5)

    /// The lengths of all blocks from an offset.
    private func lengths(_ source: Pieces, from start: Int = 0) async throws -> [Int] {
        let body = UploadBody(source)
        var (all, lengths): ([UInt8], [Int]) = ([], [])
        while true {
            let (bytes, isEnd) = try await body.next(from: Int64(start + all.count))
            all += bytes
            lengths.append(bytes.count)
            if isEnd { break }
        }
        #expect(all == Self.bytes)
        return lengths
    }

    @Test(arguments: [5000, 64 << 10, 300_000]) func `Blocks end at multiples of the granularity`(piece: Int)
        async throws
    {
        let whole = 4 * Self.granule
        #expect(try await lengths(Pieces(Self.bytes, by: piece)) == [whole, whole, Self.granule + 5])
        let odd = try await lengths(Pieces(Self.bytes, by: piece), from: 100)
        #expect(odd.first == whole - 100 && odd.dropFirst().dropLast().allSatisfy { $0 % Self.granule == 0 })
    }

    @Test func `Blocks are short while memory is`() async throws {
        #expect(try await lengths(Pieces(Self.bytes, by: 50_000) { _ in false }).allSatisfy { $0 <= 128 << 10 })
        // There is memory for a part of a block.
        let short = try await lengths(Pieces(Self.bytes, by: 50_000) { $0 <= 3 * Self.granule })
        #expect(short.dropLast().allSatisfy { $0 == Self.granule })
    }

    @Test func `All bytes of one block are known as such`() async throws {
        #expect(try await UploadBody(Pieces([], by: 1)).whole() == [])
        let block = Array(Self.bytes.prefix(4 * Self.granule))
        #expect(try await UploadBody(Pieces(block, by: 64 << 10)).whole() == block)
        let body = UploadBody(Pieces(block + [7], by: 64 << 10))
        #expect(try await body.whole() == nil)
        let (first, last) = try await (body.next(), body.next(from: 1 << 20))
        #expect(first == (block, false) && last == ([7], true))
    }

    @Test func `The bytes before a failure are not lost`() async throws {
        let body = UploadBody(Pieces(Array(Self.bytes.prefix(5 * Self.granule)), by: 64 << 10, breaks: true))
        #expect(try await body.next().bytes.count == 4 * Self.granule)
        await #expect(throws: HTTPRequestBody.Failure.disconnected) { try await body.next(from: 1 << 20) }
        #expect(body.ahead == Array(Self.bytes[(4 * Self.granule)..<(5 * Self.granule)]))
    }
}
