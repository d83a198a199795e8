import JSONText
import Platform

/// Reads the lines of a trace from a file or a pipe. Limits the memory of long lines.
package struct TraceReader: ~Copyable {
    package enum Item {
        case line(TraceLine)
        /// A sentence about an unreadable line.
        case problem(String)
    }

    private let file: Descriptor
    private let longestLine: Int
    private let waitForMore: () throws -> Bool
    private var buffer: [UInt8] = []
    private var start = 0
    private var isOver = false
    private var isSkipping = false
    package private(set) var number = 0

    /// - Parameter waitForMore: called at the end of the file; returns true if the file may have more bytes now.
    package init(
        _ file: Descriptor, longestLine: Int = 1 << 20, waitForMore: @escaping () throws -> Bool = { false }
    ) {
        (self.file, self.longestLine, self.waitForMore) = (file, longestLine, waitForMore)
    }

    /// The next item; nil at the end. Throws the errors of `waitForMore`.
    package mutating func next() throws -> Item? {
        while true {
            if let end = buffer[start...].firstIndex(of: 0x0A) {
                let line = buffer[start..<end]
                start = end + 1
                if let item = take(line, isWhole: true) { return item }
            } else if isOver {
                let line = buffer[start...]
                start = buffer.count
                return line.isEmpty && !isSkipping ? nil : take(line, isWhole: false)
            } else {
                try fill()
            }
        }
    }

    /// Nil for a blank line.
    private mutating func take(_ line: ArraySlice<UInt8>, isWhole: Bool) -> Item? {
        if isSkipping {
            isSkipping = false
            return .problem("line \(number) is longer than \(longestLine) bytes")
        }
        number += 1
        guard line.contains(where: { $0 != 0x20 && $0 != 0x0D }) else { return nil }
        do {
            return .line(try TraceLine(line.withUnsafeBytes { try JSON(parsing: $0, maxDepth: 128) }))
        } catch let error as TraceLine.Unreadable {
            return .problem("line \(number) \(error.reason)")
        } catch {
            return .problem(isWhole ? "line \(number) is no JSON: \(error)" : "line \(number), the last, is cut off")
        }
    }

    private mutating func fill() throws {
        buffer.removeFirst(start)
        start = 0
        if buffer.count > longestLine {
            if !isSkipping { number += 1 }
            isSkipping = true
            buffer.removeAll(keepingCapacity: true)
        }
        let count = withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { chunk in
            let count = (try? file.readBlocking(into: chunk)) ?? 0
            buffer += chunk[..<count]
            return count
        }
        isOver = try count == 0 && !waitForMore()
    }
}
