import Storage

// Operations without a task. Their retry time is `maxOperationRetryTime`.

extension Transfers {
    public func metadata(
        of reference: Reference, for client: TransferClient? = nil
    ) async throws(StorageError) -> ObjectMetadata {
        let reference = try reference.checkedAsObject("has no metadata")
        return try await explaining { () async throws(StorageError) in
            try await backend.metadata(of: reference, for: caller(client))
        }
    }

    /// The answer of `metadata(of:for:)` if the engine has it without waiting, else nil.
    public func knownMetadata(of reference: Reference) -> Result<ObjectMetadata, StorageError>? {
        backend.knownMetadata(of: reference)?.mapError { context.explained($0) }
    }

    /// Whether the object exists. Throws if the engine cannot tell.
    public func exists(
        _ reference: Reference, for client: TransferClient? = nil
    ) async throws(StorageError) -> Bool {
        do throws(StorageError) {
            _ = try await backend.metadata(of: reference.checkedAsObject("is no object"), for: caller(client))
            return true
        } catch  where error.code == .objectNotFound {
            return false
        }
    }

    public func updateMetadata(
        of reference: Reference, _ change: MetadataChange, if conditions: Preconditions = Preconditions(),
        for client: TransferClient? = nil
    ) async throws(StorageError) -> ObjectMetadata {
        try change.check()
        let reference = try reference.checkedAsObject("has no metadata")
        return try await explaining { () async throws(StorageError) in
            try await backend.updateMetadata(of: reference, change, if: conditions, for: caller(client))
        }
    }

    public func delete(
        _ reference: Reference, if conditions: Preconditions = Preconditions(), for client: TransferClient? = nil
    ) async throws(StorageError) {
        let reference = try reference.checkedAsObject("cannot be deleted")
        try await explaining { () async throws(StorageError) in
            try await backend.delete(reference, if: conditions, for: caller(client))
        }
    }

    public func downloadURL(
        of reference: Reference, expiresIn seconds: Int64? = nil, for client: TransferClient? = nil
    ) async throws(StorageError) -> String {
        let reference = try reference.checkedAsObject("has no download URL")
        return try await explaining { () async throws(StorageError) in
            try await backend.downloadURL(of: reference, expiresIn: seconds, for: caller(client))
        }
    }

    public func revokeDownloadURL(
        of reference: Reference, for client: TransferClient? = nil
    ) async throws(StorageError) -> String {
        let reference = try reference.checkedAsObject("has no download URL")
        return try await explaining { () async throws(StorageError) in
            try await backend.revokeDownloadURL(of: reference, for: caller(client))
        }
    }

    /// Returns one page of a list.
    public func list(_ query: ListQuery, for client: TransferClient? = nil) async throws(StorageError) -> Listing {
        _ = try Listing.checked(maxResults: Int64(query.maxResults))
        return try await backend.list(query, for: caller(client))
    }

    /// The answer of `list(_:for:)` if the engine has it without waiting, else nil.
    public func knownList(_ query: ListQuery) -> Listing? { backend.knownList(query) }

    /// The answer of `listAll` if the engine has it without waiting, else nil.
    public func knownListAll(_ reference: Reference, isExact: Bool, isRecursive: Bool) -> Listing? {
        guard var page = backend.knownList(ListQuery(reference, isExact: isExact, isRecursive: isRecursive)),
            page.pageToken == nil, page.prefixes.count + page.items.count <= limits.listResults
        else { return nil }
        page.isBucketMissing = false
        return page
    }

    /// Returns all pages of a list as one. Throws `quotaExceeded` beyond `--max-list-results`.
    public func listAll(
        _ reference: Reference, isExact: Bool = false, isRecursive: Bool = false, for client: TransferClient? = nil
    ) async throws -> Listing {
        var all = Listing(), token: String?, known: Set<Reference> = [], seen: Set<Int> = []
        let (mostResults, mostPages) = (limits.listResults, 1000 + limits.listResults / 100)
        repeat {
            try Task.checkCancellation()
            let page = try await list(
                ListQuery(reference, pageToken: token, isExact: isExact, isRecursive: isRecursive), for: client)
            // An emulator of Firebase returns all prefixes on each page.
            all.prefixes += page.prefixes.filter { known.insert($0).inserted }
            all.items += page.items
            token = page.pageToken
            if let token, !seen.insert(Array(token.utf8).hashValue).inserted { throw StorageError.endless(reference) }
            guard all.prefixes.count + all.items.count <= mostResults, seen.count <= mostPages else {
                throw StorageError.tooLong(reference, results: mostResults, pages: mostPages)
            }
        } while token != nil
        return all
    }

    /// The names of all buckets. Throws `quotaExceeded` beyond `--max-list-results`.
    public func buckets(
        of project: String? = nil, for client: TransferClient? = nil
    ) async throws(StorageError) -> [String] {
        try await backend.buckets(of: project, most: limits.listResults, for: caller(client))
    }

    /// Performs an operation on an object. The error of a missing object says whether its upload has not ended.
    func explaining<Answer>(
        _ operation: () async throws(StorageError) -> Answer
    ) async throws(StorageError) -> Answer {
        do throws(StorageError) { return try await operation() } catch { throw context.explained(error) }
    }

    private func caller(_ client: TransferClient?) -> Caller { orDefault(client).caller(\.maxOperationRetryTime) }
}

extension StorageError {
    fileprivate static func tooLong(_ reference: Reference, results: Int, pages: Int) -> StorageError {
        let what = "more than \(results) entries, or they come on more than \(pages) pages"
        let message =
            "\(reference.url) has \(what), which is what --max-list-results allows; reference/list takes any number."
        return StorageError(.quotaExceeded, message).about(reference)
    }

    fileprivate static func endless(_ reference: Reference) -> StorageError {
        StorageError(.internalError, "The engine goes round in circles when it lists \(reference.url).").about(
            reference)
    }
}
