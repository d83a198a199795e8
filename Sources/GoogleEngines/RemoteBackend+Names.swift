import HTTPClient
import Storage

// Listing objects.

extension RemoteBackend {
    /// Pages with nothing but a token for the next one are passed over, up to a limit.
    public func list(_ query: ListQuery, for caller: Caller) async throws(StorageError) -> Listing {
        let reference = query.reference
        if let pageToken = query.pageToken, pageToken.isEmpty { throw .strangeToken(reference) }
        var page = Listing(pageToken: query.pageToken)
        for round in 0..<16 where round == 0 || page.pageToken != nil {
            var next = query
            next.pageToken = page.pageToken
            page = try await self.page(next, isGiven: round == 0 && query.pageToken != nil, caller)
            if !page.items.isEmpty || !page.prefixes.isEmpty { break }
        }
        return page
    }

    private func page(_ query: ListQuery, isGiven: Bool, _ caller: Caller) async throws(StorageError) -> Listing {
        let (request, reference, token) = (dialect.list(query), query.reference, query.pageToken)
        return try await retrying(caller) { () async throws(StorageError) in
            let response = try await self.ask(request, for: caller, about: reference)
            if response.status == 400 && isGiven { throw .strangeToken(reference, httpStatus: 400) }
            guard response.isSuccess else { throw .refusal(response, of: request, to: reference, by: self.dialect) }
            guard let page = self.dialect.listing(in: response, for: query) else {
                throw .garbled("no listing", response, reference)
            }
            // Whoever followed it would never come to an end.
            guard token == nil || page.pageToken != token else {
                throw .garbled("the page token that it was asked with", response, reference)
            }
            return page
        }
    }
}

extension StorageError {
    fileprivate static func strangeToken(_ reference: Reference, httpStatus: Int? = nil) -> StorageError {
        invalidArgument("pageToken", "The page token was not given for a listing of \(reference.url).")
            .with(\.httpStatus, httpStatus)
    }
}
