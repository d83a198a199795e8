// Repeated names of members in one object. Readers disagree about their values, so the meaning of a message would
// depend on its reader.

extension [JSON.Member] {
    /// The first name that an earlier member has, too. Few names are compared pairwise, many are hashed.
    var repeatedName: String? {
        if count > 16 { return repeatedNameByHash }
        for index in indices.dropFirst() {
            let key = self[index].key
            for earlier in 0..<index where self[earlier].isNamed(key) { return key }
        }
        return nil
    }

    private var repeatedNameByHash: String? {
        var names = Set<Name>(minimumCapacity: count)
        return first { !names.insert(Name(text: $0.key)).inserted }?.key
    }

    private struct Name: Hashable {
        var text: String

        static func == (a: Name, b: Name) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }
}

extension JSON {
    /// The path of a name that an object repeats, such as `["params", "metadata", "contentType"]`; of several the one
    /// nearest to the root. Elements of arrays are given by number.
    public var repeatedName: [String]? {
        // Each container stores the index of its parent, so that only the path of the result is built.
        var containers: [(value: JSON, parent: Int, name: String)] = [(self, 0, "")]
        var next = 0
        while next < containers.count {
            switch containers[next].value {
            case .null, .bool, .number, .string: break
            case .array(let elements):
                for (index, element) in elements.enumerated() where element.isContainer {
                    containers.append((element, next, "\(index)"))
                }
            case .object(let members):
                if let name = members.repeatedName {
                    var path = [name], index = next
                    while index > 0 {
                        path.append(containers[index].name)
                        index = containers[index].parent
                    }
                    return path.reversed()
                }
                for member in members where member.value.isContainer {
                    containers.append((member.value, next, member.key))
                }
            }
            next += 1
        }
        return nil
    }

    private var isContainer: Bool {
        switch self {
        case .array, .object: true
        case .null, .bool, .number, .string: false
        }
    }
}
