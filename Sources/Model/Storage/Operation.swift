/// The requests to an engine, by the names that rules and the journal use.
public enum Operation: String, CaseIterable, Sendable {
    /// The steps of an upload.
    case open, send, query, whole
    /// One attempt of a download.
    case fetch
    case getMetadata, updateMetadata, delete, list, getData, downloadURL, revokeDownloadURL
}
