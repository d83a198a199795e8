import Platform

/// Resolves a path by looking up names only inside the allowed directories.
///
/// Outside them only the parents of allowed directories can be entered. Any other name is refused, so that a client
/// does not learn whether it exists. The resolver follows links and `..` itself, with one name per system call.
struct ConfinedPathResolver {
    enum Failure: Error {
        /// The path leaves the allowed directories.
        case outside
        case inside(SystemError)
    }

    /// The components of a path, starting at `/`.
    typealias Names = [[UInt8]]

    private enum Position {
        case outside(Names)
        /// The descriptors from an allowed directory down to the current one, and the location of the allowed
        /// directory.
        case inside([OpenFile], root: Names)
    }

    private static let mostLinks = 40

    private let allowed: [Names]
    private var position = Position.outside([])
    /// The names to be resolved, the next one last.
    private var rest: Names = []
    private var links = 0

    /// Resolves `path`, starting at `start`. A link at its end is followed, too.
    static func find(_ path: ArraySlice<[UInt8]>, from start: Names, in allowed: [Names]) throws(Failure) -> OpenFile {
        var walk = ConfinedPathResolver(allowed: allowed)
        try walk.enter(start)
        walk.rest = path.reversed() + walk.rest
        while let name = walk.rest.popLast() { try walk.follow(name) }
        guard case .inside(let opened, _) = walk.position, let found = opened.last else { throw .outside }
        return found
    }

    private init(allowed: [Names]) { self.allowed = allowed }

    /// Moves to a directory by its location, which contains neither links nor dots.
    private mutating func enter(_ location: Names) throws(Failure) {
        if let root = allowed.filter({ location.starts(with: $0) }).min(by: { $0.count < $1.count }) {
            rest += location.dropFirst(root.count).reversed()
            position = .inside([try Self.open(root)], root: root)
        } else if allowed.contains(where: { $0.starts(with: location) }) {
            position = .outside(location)
        } else {
            throw .outside
        }
    }

    private mutating func follow(_ name: [UInt8]) throws(Failure) {
        switch position {
        case .outside where name == .itself: break
        case .outside(let location): try enter(name == .parent ? location.dropLast() : location + [name])
        case .inside(let opened, let root):
            guard let last = opened.last else { throw .outside }
            guard name == .itself || name == .parent else { return try look(up: name, opened, last, root) }
            try within(last, root) { () throws(SystemError) in
                guard try last.status().kind == .directory else { throw .notDirectory }
            }
            guard name == .parent else { return }
            if opened.count == 1 { return try enter(root.dropLast()) }
            position = .inside(opened.dropLast(), root: root)
        }
    }

    private mutating func look(
        up name: [UInt8], _ opened: [OpenFile], _ last: OpenFile, _ root: Names
    ) throws(Failure) {
        let found = try within(last, root) { () throws(SystemError) in try OpenFile(placeOf: name, in: last) }
        guard let target = found.linkTarget else { return position = .inside(opened + [found], root: root) }
        links += 1
        guard links <= Self.mostLinks else { throw .outside }
        rest += target.names.reversed()
        if target.first == UInt8(ascii: "/") { try enter([]) }
    }

    /// Hides the errors of a directory that was moved out of the allowed directory meanwhile.
    private func within<Value>(
        _ directory: OpenFile, _ root: Names, _ body: () throws(SystemError) -> Value
    ) throws(Failure) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            guard let location = directory.names, location.starts(with: root) else { throw .outside }
            throw .inside(error)
        }
    }

    /// Refuses a directory that was moved. A shortage of descriptors is reported as such.
    private static func open(_ location: Names) throws(Failure) -> OpenFile {
        do throws(SystemError) {
            let path = "/" + location.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
            let directory = try OpenFile(placeAt: path, isDirectory: true, noMagicLinks: true)
            if directory.names == location { return directory }
        } catch  where error.isShortage {
            throw .inside(error)
        } catch {}
        throw .outside
    }
}

extension OpenFile {
    /// The components of the file's location; nil if it is unknown.
    var names: ConfinedPathResolver.Names? { locationBytes?.names }
}

extension [UInt8] {
    static let itself = Array(".".utf8)
    fileprivate static let parent = Array("..".utf8)

    /// The components of the path. A trailing slash becomes a trailing dot: the path must be a directory.
    var names: ConfinedPathResolver.Names {
        let parts = split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map(Array.init)
        let names = parts.filter { !$0.isEmpty && $0 != .itself }
        guard let end = parts.last, end.isEmpty || end == .itself, !names.isEmpty else { return names }
        return names + [.itself]
    }
}
