import Resources

/// Infers the content type of an upload that names none.
public enum ContentType {
    public static let fallback = "application/octet-stream"

    /// The type for the extension of the last path segment, in any case; nil for an unknown extension.
    public static func inferred(fromName name: String) -> String? {
        let segment = name.utf8.suffix(while: { $0 != UInt8(ascii: "/") })
        guard let dot = segment.lastIndex(of: UInt8(ascii: ".")), dot > segment.startIndex else { return nil }
        let ending = segment[segment.index(after: dot)...]
        guard ending.count <= longestExtension else { return nil }
        let lowercased = ending.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return places[String(decoding: lowercased, as: UTF8.self)].map(text(at:))
    }

    private static let longestExtension = 32

    private static var table: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: resource_media_types().bytes, count: resource_media_types().count)
    }

    // For every extension the range of its type in the table.
    private static let places: [String: Range<UInt16>] = {
        var places: [String: Range<UInt16>] = [:]
        places.reserveCapacity(2048)
        for line in table.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            guard let type = words.first, let start = UInt16(exactly: type.startIndex) else { continue }
            for word in words.dropFirst() {
                places[String(decoding: word, as: UTF8.self)] = start..<start + UInt16(type.count)
            }
        }
        return places
    }()

    private static func text(at place: Range<UInt16>) -> String {
        String(decoding: table[Int(place.lowerBound)..<Int(place.upperBound)], as: UTF8.self)
    }
}

extension String.UTF8View {
    fileprivate func suffix(while belongs: (UInt8) -> Bool) -> SubSequence {
        var start = endIndex
        while start > startIndex, belongs(self[index(before: start)]) { start = index(before: start) }
        return self[start...]
    }
}
