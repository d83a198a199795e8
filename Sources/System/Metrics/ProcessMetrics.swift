/// Metrics of the whole process, recorded on any thread.
public enum ProcessMetrics {
    /// The durations of transactions that changed a database, including syncs.
    public static let commits = Histogram()
    /// The durations of syncs of files.
    public static let syncs = Histogram()
    /// The durations of iterations of the event loop, without the waits for descriptors.
    public static let iterations = Histogram()
    /// The number of repeated requests to a server, except those of tasks.
    public static let operationRetries = Counter()

    public static var families: [MetricFamily] {
        [
            .histogram(
                "storage_rpc_commit_duration_seconds", "Transactions that changed the database, with their syncs.",
                commits),
            .histogram("storage_rpc_sync_duration_seconds", "Syncs of files to the disk.", syncs),
            .histogram(
                "storage_rpc_loop_iteration_duration_seconds",
                "Iterations of the event loop, in which no other client is served.", iterations),
        ]
    }
}
