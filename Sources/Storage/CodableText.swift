import FoundationEssentials

extension Encodable {
    /// As JSON.
    package var text: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}

extension Decodable {
    package init(text: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) }
}
