import CSystem

// Searches by elements: texts are searched by their bytes, as protocols compare them. Swift's own functions for this
// would add a parser of regular expressions, a twentieth of the program's size.
extension Collection where Element: Equatable {
    package func firstRange(of part: some Collection<Element>) -> Range<Index>? {
        var start = startIndex
        while true {
            var (end, rest) = (start, part[...])
            while let wanted = rest.first, end < endIndex, self[end] == wanted {
                formIndex(after: &end)
                rest = rest.dropFirst()
            }
            if rest.isEmpty { return start..<end }
            guard end < endIndex else { return nil }
            formIndex(after: &start)
        }
    }
}

extension StringProtocol {
    package func firstRange(of text: String) -> Range<Index>? {
        var text = text
        guard !text.isEmpty,
            let found = utf8.withContiguousStorageIfAvailable({ bytes in
                text.withUTF8 { UnsafeRawBufferPointer(bytes).firstIndex(of: UnsafeRawBufferPointer($0)) }
            })
        else { return utf8.firstRange(of: text.utf8) }
        return found.map { offset in
            let start = utf8.index(utf8.startIndex, offsetBy: offset)
            return start..<utf8.index(start, offsetBy: text.utf8.count)
        }
    }

    package func has(_ text: String) -> Bool { firstRange(of: text) != nil }

    /// The parts between the occurrences of a text that is not empty, including those at the beginning and the end.
    package func parts(between text: String) -> [SubSequence] {
        var (parts, start): ([SubSequence], Index) = ([], startIndex)
        while let found = self[start...].firstRange(of: text) {
            parts.append(self[start..<found.lowerBound])
            start = found.upperBound
        }
        return parts + [self[start...]]
    }

    package func replacing(_ text: String, with other: String) -> String {
        parts(between: text).joined(separator: other)
    }
}

extension UnsafeRawBufferPointer {
    /// The first index of these bytes, which must not be empty. The time grows with the sum of both lengths.
    package func firstIndex(of part: UnsafeRawBufferPointer) -> Int? {
        let index = csystem_find(baseAddress, count, part.baseAddress, part.count)
        return index < 0 ? nil : index
    }
}
