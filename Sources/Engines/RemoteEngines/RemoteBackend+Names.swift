import HTTPClient
import Storage

// Listing objects.

extension RemoteBackend {
    /// Skips pages that contain only a token for the next one, up to a limit.
    package func list(_ query: ListQuery, for caller: Caller) async throws(StorageError) -> Listing {
        let reference = query.reference
        if let pageToken = query.pageToken, pageToken.isEmpty { throw .strangeToken(reference) }
        var page = Listing(pageToken: query.pageToken)
        for round in 0..<16 where round == 0 || page.pageToken != nil {
            var next = query
            next.pageToken = page.pageToken
            page = try await self.page(next, isGiven: round == 0 && query.pageToken != nil, caller)
            if !page.items.isEmpty || !page.prefixes.isEmpty { break }
        }
        guard query.wantsMetadata, page.metadata == nil, page.summaries == nil else { return page }
        return try await withMetadata(page, caller)
    }

    /// Reads the metadata of each item that comes without it. Omits items that no longer exist.
    private func withMetadata(_ page: Listing, _ caller: Caller) async throws(StorageError) -> Listing {
        let answers = await withTaskGroup(of: (Int, Result<ObjectMetadata, StorageError>).self) { group in
            var answers = [Result<ObjectMetadata, StorageError>?](repeating: nil, count: page.items.count)
            var left = page.items.enumerated().makeIterator()
            func askNext() {
                guard let (index, item) = left.next() else { return }
                group.addTask { (index, await self.metadataResult(of: item, caller)) }
            }
            for _ in 0..<Self.metadataAtOnce { askNext() }
            for await (index, answer) in group {
                answers[index] = answer
                if case .failure(let error) = answer, error.code != .objectNotFound { break }
                askNext()
            }
            group.cancelAll()
            return answers
        }
        var (page, all) = (page, [ObjectMetadata]())
        for answer in answers {
            do throws(StorageError) { if let answer { all.append(try answer.get()) } } catch {
                if error.code != .objectNotFound { throw error }
            }
        }
        (page.items, page.metadata) = (all.map(\.reference), all)
        return page
    }

    private func metadataResult(of item: Reference, _ caller: Caller) async -> Result<ObjectMetadata, StorageError> {
        do throws(StorageError) { return .success(try await metadata(of: item, for: caller)) } catch {
            return .failure(error)
        }
    }

    private static let metadataAtOnce = 8

    private func page(_ query: ListQuery, isGiven: Bool, _ caller: Caller) async throws(StorageError) -> Listing {
        let (request, reference, token) = (dialect.list(query), query.reference, query.pageToken)
        return try await retrying(caller) { () async throws(StorageError) in
            let (asked, endedWrites) = (self.time.now(), self.turns.endedWrites)
            let response = try await self.ask(request, for: caller, about: reference)
            if response.status == 400 && isGiven { throw .strangeToken(reference, httpStatus: 400) }
            guard response.isSuccess else { throw .refusal(response, of: request, to: reference, by: self.dialect) }
            var page = try response.understood(about: reference) { response throws(GarbledAnswer) in
                try self.dialect.listing(in: response, for: query)
            }
            // The server tells its clock without fractions of seconds, at some time after the question.
            if query.wantsMetadata { page.clockLead = response.clockLead(at: asked) + .seconds(1) }
            if query.takesSummaries { page.endedWrites = endedWrites }
            // Following the same token again would never end.
            if let token, page.pageToken?.hasSameBytes(as: token) == true {
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

extension RemoteBackend {
    package func buckets(of project: String?, most: Int, for caller: Caller) async throws(StorageError) -> [String] {
        guard dialect.buckets(of: "", after: nil) != nil else {
            throw StorageError(.invalidArgument, "The engine \(properties.kind.rawValue) cannot list buckets.")
        }
        guard dialect.bucketsHaveProjects || project == nil else {
            throw .invalidArgument("project", "The engine \(properties.kind.rawValue) knows no projects of buckets.")
        }
        guard let project = dialect.bucketsHaveProjects ? project ?? caller.userProject : "" else { throw .noProject }
        var (names, token): ([String], String?) = ([], nil)
        repeat {
            guard let request = dialect.buckets(of: project, after: token) else { break }
            let page: (names: [String], pageToken: String?)
            do throws(StorageError) {
                page = try await retrying(caller) { () async throws(StorageError) in
                    try await self.page(request, caller)
                }
            } catch {
                throw error.aboutBuckets(of: project)
            }
            guard page.pageToken == nil || page.pageToken != token else {
                throw StorageError(.internalError, "The server repeats a page of its list of buckets.")
            }
            (names, token) = (names + page.names, page.pageToken)
            guard names.count <= most else { throw .tooManyBuckets(most) }
        } while token != nil
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private func page(
        _ request: RemoteRequest, _ caller: Caller
    ) async throws(StorageError) -> (names: [String], pageToken: String?) {
        // Requests need a reference for messages; a list of buckets has none.
        let all = try Reference(bucket: "buckets", path: "")
        let response = try await success(of: request, all, caller)
        return try response.understood(about: all) { response throws(GarbledAnswer) in
            try self.dialect.buckets(in: response)
        }
    }
}

extension StorageError {
    fileprivate static var noProject: StorageError {
        .invalidArgument(
            "project", "Buckets are listed by project: name it in \"project\", or set userProject (--user-project).")
    }

    fileprivate func aboutBuckets(of project: String) -> StorageError {
        guard bucket != nil else { return self }
        let how = httpStatus.map { "the server answered \($0)" } ?? message
        return with(\.bucket, nil).with(\.object, nil).with(
            \.message, "The buckets\(project.isEmpty ? "" : " of project \(project)") cannot be listed: \(how).")
    }
}
