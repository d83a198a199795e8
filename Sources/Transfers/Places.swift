import Platform
import Storage

/// A number of places to move bytes from, given out in the order of asking.
@Loop
final class Places {
    private let limit: Int
    private var taken: Set<String> = []
    private var line: [any InLine] = []
    private let released: @Loop () -> Void

    init(limit: Int, released: @escaping @Loop () -> Void) {
        self.limit = limit
        self.released = released
    }

    func acquire(_ task: any InLine) {
        line.append(task)
        admit()
    }

    /// Gives the place back, or leaves the line.
    func release(_ task: any InLine) {
        defer { released() }
        if taken.remove(task.id) == nil {
            guard let index = line.firstIndex(where: { $0 === task }) else { return }
            line.remove(at: index)
        }
        admit()
    }

    private func admit() {
        while taken.count < limit, !line.isEmpty {
            let task = line.removeFirst()
            taken.insert(task.id)
            task.admit()
        }
    }
}

/// Who waits for a place, and is told when there is one.
@Loop
protocol InLine: AnyObject {
    var id: String { get }
    func admit()
}
