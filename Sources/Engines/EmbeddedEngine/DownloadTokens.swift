import Database
import Platform
import HTTPText
import Roots
import Storage
import TaskStore

// A download token gives access to an object without other credentials.
extension Database {
    func downloadTokens(of reference: Reference) throws -> [String] {
        let tokens = try first(
            "SELECT downloadTokens FROM objects WHERE \(Self.isObject)", reference.key
        ) { try $0.text("downloadTokens") }
        guard let tokens else { throw StorageError.objectNotFound(reference) }
        return [String](downloadTokens: tokens)
    }

    /// Replaces the download tokens, which counts as a change of the metadata.
    func settingDownloadTokens(
        of reference: Reference, _ tokens: [String], at now: Timestamp
    ) throws -> (ObjectMetadata, [ObjectChange]) {
        var object = try metadata(of: reference)
        object.downloadTokens = tokens
        object.metageneration = try next(after: object.metageneration)
        object.updated = max(now, object.updated)
        let values: Values = [
            "downloadTokens": object.tokensValue, "metageneration": .integer(object.metageneration),
            "updated": .integer(object.updated.microseconds),
        ]
        let columns: Columns = ["downloadTokens", "metageneration", "updated"]
        try run("UPDATE objects SET \(columns.assignments) WHERE \(Self.isObject)", values + reference.key)
        return (object, [ObjectChange(.updated, object)])
    }
}

extension EmbeddedBackend {
    func downloadTokens(of reference: Reference) async throws(StorageError) -> [String] {
        try await store.read { [buckets] in
            try buckets.check(reference, in: $0)
            return try $0.downloadTokens(of: reference)
        }
    }

    /// A token of an object, which gets one if it has none. Concurrent callers get the same token.
    private func downloadToken(of reference: Reference) async throws(StorageError) -> String {
        if let first = try await downloadTokens(of: reference).first { return first }
        return try await changing { [time, random, buckets] in
            try buckets.check(reference, in: $0)
            if let first = try $0.downloadTokens(of: reference).first { return (first, []) }
            let token = random.uuid()
            return (token, try $0.settingDownloadTokens(of: reference, [token], at: time.now()).1)
        }
    }

    /// Replaces all tokens by a new one, and returns that.
    func replaceDownloadTokens(of reference: Reference) async throws(StorageError) -> String {
        try await changing { [time, random, buckets] in
            try buckets.check(reference, in: $0)
            let token = random.uuid()
            return (token, try $0.settingDownloadTokens(of: reference, [token], at: time.now()).1)
        }
    }

    /// Opens an object for a name, taken literally, and a token. Returns nil for a missing object and for a wrong
    /// token, so that the caller cannot tell them apart.
    func servable(bucket: String, name: String, token: String) async throws(StorageError) -> OpenObject? {
        guard let reference = Self.reference(bucket, name) else { return nil }
        do throws(StorageError) {
            return try await open(reference) { [time] database, _ in
                guard try opens(token, reference, database.downloadTokens(of: reference), at: time.now()) else {
                    throw StorageError.objectNotFound(reference)
                }
            }
        } catch  where [.objectNotFound, .bucketNotFound].contains(error.code) {
            return nil
        }
    }

    private static func reference(_ bucket: String, _ name: String) -> Reference? {
        do throws(StorageError) {
            return try Reference(bucket: bucket, object: name)
        } catch {
            return nil
        }
    }

    package func downloadURL(
        of reference: Reference, expiresIn seconds: Int64?, for caller: Caller
    ) async throws(StorageError) -> String {
        if let seconds, !(1...Self.longestLifetime).contains(seconds) {
            throw .invalidArgument(
                "expiresIn", "expiresIn must be between 1 and \(Self.longestLifetime) seconds, not \(seconds).")
        }
        let token = try await downloadToken(of: reference)
        guard let seconds else { return try await url(of: reference, token) }
        let end = time.now().microseconds / 1_000_000 + seconds
        return try await url(of: reference, ExpiringToken(reference, until: end).text(signedBy: token))
    }

    package func revokeDownloadURL(of reference: Reference, for caller: Caller) async throws(StorageError) -> String {
        // Replaces the tokens first: the old ones must become invalid even if no URL can be created.
        try await url(of: reference, replaceDownloadTokens(of: reference))
    }

    /// In seconds: a week, as in Google Cloud Storage.
    private static let longestLifetime: Int64 = 604_800

    private func url(of reference: Reference, _ token: String) async throws(StorageError) -> String {
        guard let urlBase else {
            throw StorageError(
                .internalError, "There is no address that download URLs could begin with: nothing serves them.")
        }
        let base = try await urlBase()
        // The token is escaped, since a client may have chosen it.
        return "\(base)/v0/b/\(reference.bucket.escaped)/o/\(reference.object.escaped)?alt=media&token=\(token.escaped)"
    }
}

/// Whether a token is one of the object's tokens, or an unexpired one that is derived from one of them.
private func opens(
    _ token: String, _ reference: Reference, _ tokens: [String], at now: Timestamp
) throws(StorageError) -> Bool {
    if tokens.contains(where: { isSame($0, token) }) { return true }
    guard let expiring = ExpiringToken(token, of: reference, at: now) else { return false }
    for own in tokens where isSame(try expiring.text(signedBy: own), token) { return true }
    return false
}

/// Compares in constant time.
private func isSame(_ a: String, _ b: String) -> Bool {
    let (a, b) = (Array(a.utf8), Array(b.utf8))
    guard a.count == b.count, !a.isEmpty else { return false }
    return zip(a, b).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
}
