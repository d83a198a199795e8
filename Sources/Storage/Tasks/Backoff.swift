/// How long to rest after failures in a row: 1, 2, 4 … 64 seconds, as the SDKs do.
public enum Backoff {
    public static func delay(afterFailures failures: Int) -> Duration {
        .seconds(1 << min(max(failures, 0), 6))
    }
}
