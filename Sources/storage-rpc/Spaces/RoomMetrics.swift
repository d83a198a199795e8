import EmbeddedEngine
import Metrics
import Platform
import Roots
import Storage

/// The gauges of an engine's room: the number of its objects, and the bytes of its disk.
///
/// Objects are counted on demand, a hundredth of the time at most. Until the next count the gauge has the last one.
@Loop final class RoomMetrics {
    private let engine: any Engine
    private let disk = WorkerThreads("room", limit: 1)
    private var count: Int64?
    private var isCounting = false
    /// The time since the last count.
    private var rested: @Sendable () -> Duration = { .zero }
    /// The time without a count after the last one.
    private var rest = Duration.zero
    /// The duration of counts that are as frequent as the requests.
    private static let short = Duration.milliseconds(10)

    init(of engine: any Engine) { self.engine = engine }

    func families() async -> [MetricFamily] {
        await countObjects()
        let objects = count.map { MetricFamily.gauge("storage_rpc_objects", "Objects of all buckets.", Double($0)) }
        return [objects].compactMap(\.self) + (await roomOfDisk())
    }

    private func countObjects() async {
        guard let objects = engine.local?.embedded, !isCounting, rested() >= rest else { return }
        isCounting = true
        let elapsed = engine.time.clock.stopwatch()
        if let count = try? await objects.objectCount() { self.count = count }
        let took = elapsed()
        (isCounting, rest, rested) = (false, took < Self.short ? .zero : took * 100, engine.time.clock.stopwatch())
    }

    private func roomOfDisk() async -> [MetricFamily] {
        guard let root = engine.root?.path, let room = await disk.run({ FileSystem.room(at: root) }) else { return [] }
        return [
            .gauge("storage_rpc_disk_free_bytes", "Free bytes on the disk of the root.", Double(room.free)),
            .gauge("storage_rpc_disk_size_bytes", "All bytes of the disk of the root.", Double(room.size)),
        ]
    }
}
