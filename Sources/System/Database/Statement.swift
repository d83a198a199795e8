import CSQLite

/// A compiled statement, kept for its next use.
final class Statement {
    let handle: OpaquePointer
    let connection: OpaquePointer
    let path: String
    let parameters: [String]
    /// The column names, once resolved, and the number of recompilations at that time.
    var columns: [String] = []
    var columnsKnownAfter: Int32 = 0
    var isBusy = false

    /// Compiles `sql`, which has to be exactly one statement.
    init(_ sql: String, connection: OpaquePointer, path: String) throws(DatabaseError) {
        var compiled: OpaquePointer?
        var isAlone = false
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

    // The result repeats that of the last step, which has been checked.
    deinit { csqlite_finalize(handle) }

    /// Binds the values, runs `body` while their bytes stay in place, and resets the statement.
    func use<R>(_ values: Values, _ body: () throws(DatabaseError) -> R) throws(DatabaseError) -> R {
        let values = try inOrder(values)
        isBusy = true
        defer {
            csqlite_clear_bindings(handle)
            isBusy = false
        }
        let result: R
        do {
            result = try bind(values[...], body)
        } catch {
            csqlite_reset(handle)
            throw error
        }
        // A writing statement that was not stepped to its end commits here.
        try check(csqlite_reset(handle))
        return result
    }

    /// True if there is a row, false after the last one.
    func step() throws(DatabaseError) -> Bool {
        let result = csqlite_step(handle)
        if result == CSQLITE_ROW.code { return true }
        guard result == CSQLITE_DONE.code else {
            throw DatabaseError(result: result, connection: connection, path: path)
        }
        return false
    }

    var row: Row { Row(statement: self) }

    // Recurses into a closure for each array, because the bytes of an array stay in place only within one.
    private func bind<R>(
        _ values: ArraySlice<Value>, _ body: () throws(DatabaseError) -> R
    ) throws(DatabaseError) -> R {
        for index in values.indices {
            let place = Int32(index + 1)
            switch values[index] {
            case .null: try check(csqlite_bind_null(handle, place))
            case .integer(let value): try check(csqlite_bind_int64(handle, place, value))
            case .text(let text): try check(bind(text, at: place))
            case .blob(let array):
                return try array.withUnsafeBufferPointer { (bytes) throws(DatabaseError) in
                    try check(csqlite_bind_blob(handle, place, bytes.baseAddress, UInt64(bytes.count)))
                    return try bind(values[(index + 1)...], body)
                }
            }
        }
        return try body()
    }

    private func bind(_ text: String, at place: Int32) -> Int32 {
        var text = text
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                csqlite_bind_text(handle, place, $0.baseAddress, UInt64($0.count))
            }
        }
    }

    private func check(_ result: Int32) throws(DatabaseError) {
        guard result == CSQLITE_OK.code else { throw DatabaseError(result: result, connection: connection, path: path) }
    }
}

/// The names of a compiled statement's parameters and columns.
extension Statement {
    /// Without their colons. A parameter without a name, `?`, has an empty one, and no value fits it.
    static func parameterNames(_ handle: OpaquePointer) -> [String] {
        (0..<csqlite_bind_parameter_count(handle)).map { index in
            csqlite_bind_parameter_name(handle, index + 1).map { String(cString: $0 + 1) } ?? ""
        }
    }

    /// The values in the order of the parameters. Each parameter needs exactly one value.
    func inOrder(_ values: Values) throws(DatabaseError) -> [Value] {
        let pairs = values.pairs
        var ordered: [Value] = []
        ordered.reserveCapacity(parameters.count)
        for (index, parameter) in parameters.enumerated() where pairs.count == parameters.count {
            // Callers mostly name them in the order of the statement.
            let isNext = pairs[index].0 == parameter
            guard let pair = isNext ? pairs[index] : pairs.first(where: { $0.0 == parameter }) else { break }
            ordered.append(pair.1)
        }
        guard ordered.count == parameters.count, pairs.count == parameters.count else {
            let text = "values for \(pairs.map(\.0).sorted()) and not for \(parameters.sorted())"
            throw DatabaseError(CSQLITE_RANGE, text, path: path)
        }
        return ordered
    }

    func index(ofColumn name: String) throws(DatabaseError) -> Int32 {
        let recompiled = csqlite_recompiled(handle)
        if columns.isEmpty || recompiled != columnsKnownAfter {
            columns = try columnNames()
            columnsKnownAfter = recompiled
        }
        guard let index = columns.firstIndex(of: name) else {
            throw DatabaseError(CSQLITE_RANGE, "there is no column \(name)", path: path)
        }
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
