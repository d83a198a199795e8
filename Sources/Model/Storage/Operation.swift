/// The requests to an engine, with the names that rules and the journal use.
public enum Operation: String, CaseIterable, Sendable {
    /// The steps of an upload.
    case open, send, query, whole
    /// The steps of a copy or a move after `open`.
    case copy, move
    /// One attempt of a download.
    case fetch
    case getMetadata, updateMetadata, delete, list, getData, downloadURL, revokeDownloadURL
}
