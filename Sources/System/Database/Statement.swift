import CSQLite

/// A compiled statement, which is cached for its next use.
final class Statement {
    let handle: OpaquePointer
    let connection: OpaquePointer
    let path: String
    /// Whether it inserts rows, and so frees hardly a page: an upsert may free those of a longer row, which a later
    /// transaction returns.
    let inserts: Bool
    private let parameters: [String]
    /// For each value of the last use the number of its parameter, from 1.
    private var places = NamedPlaces()
    /// The numbers of the columns that were read since the recompilation that `columnsKnownAfter` counts.
    private var columns = NamedPlaces()
    private var columnsKnownAfter: Int32 = 0
    var isBusy = false

    /// Compiles `sql`, which must be exactly one statement.
    init(_ sql: String, connection: OpaquePointer, path: String) throws(DatabaseError) {
        var compiled: OpaquePointer?
        var isAlone = false
        inserts = sql.hasPrefix("INSERT INTO")
        var sql = sql
        let result = sql.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                var tail: UnsafePointer<CChar>?
                let result = csqlite_prepare(connection, text.baseAddress, Int32(text.count), &compiled, &tail)
                let used = tail.flatMap { tail in text.baseAddress.map { tail - $0 } } ?? 0
                isAlone = bytes[used...].allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
                return result
            }
        }
        guard result == CSQLITE_OK.code else { throw DatabaseError(result: result, connection: connection, path: path) }
        guard let compiled, isAlone else {
            csqlite_finalize(compiled)
            throw DatabaseError(CSQLITE_MISUSE, "not exactly one statement: \(sql)", path: path)
        }
        handle = compiled
        (self.connection, self.path) = (connection, path)
        parameters = Self.parameterNames(compiled)
    }

    // The result repeats that of the last step, which was checked.
    deinit { csqlite_finalize(handle) }

    /// Binds the values, runs `body` while their bytes keep their addresses, and resets the statement.
    func use<R>(_ values: Values, _ body: () throws(DatabaseError) -> R) throws(DatabaseError) -> R {
        let groups = values.groups
        if !places.areThose(of: groups) { places = try match(groups.flatMap(\.self)) }
        isBusy = true
        defer {
            csqlite_clear_bindings(handle)
            isBusy = false
        }
        var result: R?
        do {
            try bind(groups, from: (0, 0, 0)) { () throws(DatabaseError) in result = try body() }
        } catch {
            csqlite_reset(handle)
            throw error
        }
        // A writing statement that was not stepped to its end commits here.
        try check(csqlite_reset(handle))
        return result.called
    }

    /// Returns true for a row, false after the last one.
    func step() throws(DatabaseError) -> Bool {
        let result = csqlite_step(handle)
        if result == CSQLITE_ROW.code { return true }
        guard result == CSQLITE_DONE.code else {
            throw DatabaseError(result: result, connection: connection, path: path)
        }
        return false
    }

    var row: Row { Row(statement: self) }

    // Recurses into a closure for each text and blob, because their bytes keep their addresses only within one.
    private func bind(
        _ groups: [[(StaticString, Value)]], from first: (group: Int, index: Int, place: Int),
        _ body: () throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var next = first
        while next.group < groups.count {
            guard next.index < groups[next.group].count else {
                (next.group, next.index) = (next.group + 1, 0)
                continue
            }
            let (place, value) = (places[next.place], groups[next.group][next.index].1)
            (next.index, next.place) = (next.index + 1, next.place + 1)
            switch value {
            case .null: break
            case .integer(let value): try check(csqlite_bind_int64(handle, place, value))
            case .text(var text):
                return try text.withUTF8 { bytes in
                    Result { () throws(DatabaseError) in
                        try check(csqlite_bind_text(handle, place, bytes.baseAddress, UInt64(bytes.count)))
                        return try bind(groups, from: next, body)
                    }
                }.get()
            case .blob(let array):
                return try array.withUnsafeBufferPointer { (bytes) throws(DatabaseError) in
                    try check(csqlite_bind_blob(handle, place, bytes.baseAddress, UInt64(bytes.count)))
                    return try bind(groups, from: next, body)
                }
            }
        }
        return try body()
    }

    private func check(_ result: Int32) throws(DatabaseError) {
        guard result == CSQLITE_OK.code else { throw DatabaseError(result: result, connection: connection, path: path) }
    }
}

/// The names of a statement's parameters and columns.
extension Statement {
    /// The names without colons. A parameter without a name, `?`, has an empty one, which no value matches.
    private static func parameterNames(_ handle: OpaquePointer) -> [String] {
        (0..<csqlite_bind_parameter_count(handle)).map { index in
            csqlite_bind_parameter_name(handle, index + 1).map { String(cString: $0 + 1) } ?? ""
        }
    }

    /// The parameters of the values. Each parameter needs exactly one value.
    private func match(_ pairs: [(StaticString, Value)]) throws(DatabaseError) -> NamedPlaces {
        var matched = NamedPlaces()
        let names = pairs.map(\.0.description)
        guard names.sorted() == parameters.sorted(), Set(names).count == names.count else {
            let text = "values for \(names.sorted()) and not for \(parameters.sorted())"
            throw DatabaseError(CSQLITE_RANGE, text, path: path)
        }
        for (pair, name) in zip(pairs, names) {
            matched.append(pair.0, Int32((parameters.firstIndex(of: name) ?? 0) + 1))
        }
        return matched
    }

    func index(ofColumn name: StaticString) throws(DatabaseError) -> Int32 {
        let recompiled = csqlite_recompiled(handle)
        if recompiled != columnsKnownAfter { (columns, columnsKnownAfter) = (NamedPlaces(), recompiled) }
        if let index = columns.next(name) { return index }
        guard let index = try columnNames().firstIndex(of: name.description) else {
            throw DatabaseError(CSQLITE_RANGE, "there is no column \(name)", path: path)
        }
        columns.append(name, Int32(index))
        return Int32(index)
    }

    private func columnNames() throws(DatabaseError) -> [String] {
        var names: [String] = []
        for index in 0..<csqlite_column_count(handle) {
            guard let name = csqlite_column_name(handle, index) else {
                throw DatabaseError(CSQLITE_NOMEM, "out of memory", path: path)
            }
            names.append(String(cString: name))
        }
        guard Set(names).count == names.count else {
            throw DatabaseError(CSQLITE_RANGE, "two columns have one name: \(names)", path: path)
        }
        return names
    }
}

/// Numbers of parameters or columns by the addresses of their names, which are literals: each name is compared only
/// once.
private struct NamedPlaces {
    private var known: [(name: UnsafePointer<UInt8>, place: Int32)] = []
    /// The index after the last name that was found.
    private var cursor = 0

    subscript(index: Int) -> Int32 { known[index].place }

    mutating func append(_ name: StaticString, _ place: Int32) {
        known.append((name.utf8Start, place))
        cursor = known.count
    }

    func areThose(of groups: [[(StaticString, Value)]]) -> Bool {
        guard groups.reduce(0, { $0 + $1.count }) == known.count else { return false }
        var index = 0
        for group in groups {
            for place in group.indices {
                if group[place].0.utf8Start != known[index].name { return false }
                index += 1
            }
        }
        return true
    }

    /// Nil for a name that was not appended. Callers usually ask for all names in the same order again.
    mutating func next(_ name: StaticString) -> Int32? {
        if cursor >= known.count { cursor = 0 }
        if cursor >= known.count || known[cursor].name != name.utf8Start {
            guard let found = known.firstIndex(where: { $0.name == name.utf8Start }) else { return nil }
            cursor = found
        }
        defer { cursor += 1 }
        return known[cursor].place
    }
}
