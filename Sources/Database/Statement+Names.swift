import CSQLite

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
            let isNext = pairs[index].name == parameter
            guard let pair = isNext ? pairs[index] : pairs.first(where: { $0.name == parameter }) else { break }
            ordered.append(pair.value)
        }
        guard ordered.count == parameters.count, pairs.count == parameters.count else {
            let text = "values for \(pairs.map(\.name).sorted()) and not for \(parameters.sorted())"
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
