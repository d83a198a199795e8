import Database
import Platform
import Roots
import Storage
import Synchronization

/// Empty files that are created ahead, so that a new file costs an upload neither a commit nor a directory sync.
///
/// The row of a file is durable before the file exists, and its name is durable before an upload gets it. The next
/// start sweeps unused files.
package final class ReservedFiles: Sendable {
    typealias Receiver = @Sendable (Result<Int64, StorageError>) -> Void

    private static let largestBatch = 32

    private struct State {
        var ready: [Int64] = []
        /// The size of the next batch. It grows with each one, so that a process that needs few files creates few.
        var batch = 4
        var isMaking = false
        /// The numbers of rows whose files could not be created yet.
        var unmade: [Int64] = []
        var waiting: [Receiver] = []

        var wantsMore: Bool { !isMaking && (!waiting.isEmpty || ready.count < batch / 4) }
    }

    private let files: ObjectFiles
    private let store: RootDatabase
    private let threads: WorkerThreads
    private let state = Mutex(State())

    init(_ files: ObjectFiles, _ store: RootDatabase, on threads: WorkerThreads) {
        (self.files, self.store, self.threads) = (files, store, threads)
    }

    /// The created files that are not in use.
    package var ready: [Int64] { state.withLock { $0.ready } }
    package var isMakingMore: Bool { state.withLock { $0.isMaking } }

    /// Calls `receiver` with the number of an empty file: at once, or on another thread if one has to be created.
    func take(_ receiver: @escaping Receiver) {
        let file = state.withLock { state -> Int64? in
            if !state.ready.isEmpty { return state.ready.removeFirst() }
            state.waiting.append(receiver)
            return nil
        }
        if let file { receiver(.success(file)) }
        makeMore()
    }

    /// Forgets the files that are ready, because another program has changed one of them.
    func forget() { state.withLock { $0.ready = [] } }

    private func makeMore() {
        let next = state.withLock { state -> (unmade: [Int64], count: Int)? in
            guard state.wantsMore else { return nil }
            state.isMaking = true
            defer { state.batch = min(state.batch * 2, Self.largestBatch) }
            return (exchange(&state.unmade, with: []), state.batch)
        }
        guard let next else { return }
        if !next.unmade.isEmpty { return make(.success(next.unmade)) }
        store.write(changesObjects: false) { database in
            try (0..<next.count).map { _ in
                try database.run(
                    "INSERT INTO files (state) VALUES (:state)",
                    ["state": ObjectSchema.FileState.beingWritten.value])
                return database.lastInsertedRowID
            }
        } then: { [self] numbers in
            make(numbers)
        }
    }

    private func make(_ numbers: Result<[Int64], StorageError>) {
        threads.submit { [self] in
            do throws(StorageError) {
                finish(.success(try make(numbers.get())))
            } catch {
                finish(.failure(error))
            }
        }
    }

    /// Creates as many of the files as possible. A number with an existing file of another program is skipped: its file
    /// stays, and its row is deleted.
    private func make(_ numbers: [Int64]) throws(StorageError) -> [Int64] {
        var (made, taken) = ([Int64](), [Int64]())
        var failure: StorageError?
        for number in numbers where failure == nil {
            do throws(StorageError) {
                if try files.create(number) { made.append(number) } else { taken.append(number) }
            } catch {
                failure = error
            }
        }
        state.withLock { $0.unmade = Array(numbers.dropFirst(made.count + taken.count)) }
        if !taken.isEmpty { forget(rows: taken) }
        if let failure, made.isEmpty { throw failure }
        try storing(files.path) { () throws(SystemError) in try files.sync() }
        return made
    }

    private func forget(rows numbers: [Int64]) {
        store.write(isUrgent: false, changesObjects: false) { database in
            for number in numbers {
                try database.run("DELETE FROM files WHERE id = :id", ["id": .integer(number)])
            }
        } then: { _ in
        }
    }

    private func finish(_ made: Result<[Int64], StorageError>) {
        let served = state.withLock { state -> [(Receiver, Result<Int64, StorageError>)] in
            state.isMaking = false
            switch made {
            case .failure(let error):
                return exchange(&state.waiting, with: []).map { ($0, .failure(error)) }
            case .success(let files):
                state.ready += files
                let count = min(state.ready.count, state.waiting.count)
                defer {
                    state.ready.removeFirst(count)
                    state.waiting.removeFirst(count)
                }
                return zip(state.waiting, state.ready).map { ($0, .success($1)) }
            }
        }
        for (receiver, file) in served { receiver(file) }
        if case .success = made { makeMore() }
    }
}
