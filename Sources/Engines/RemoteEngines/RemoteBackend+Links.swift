import HTTPClient
import Platform
import Storage

// Public download URLs, by tokens or signatures.

extension RemoteBackend {
    package func downloadURL(
        of reference: Reference, expiresIn seconds: Int64?, for caller: Caller
    ) async throws(StorageError) -> String {
        switch dialect.links {
        case .signatures(let dialect):
            return try await signedURL(of: reference, seconds ?? dialect.longestLifetime, dialect, for: caller)
        case .presigned(let dialect):
            return try await presignedURL(of: reference, seconds ?? dialect.longestLifetime, dialect, for: caller)
        case .tokens(let dialect):
            if seconds != nil { throw .urlsDoNotExpire }
            let known = try await tokens(
                dialect, self.dialect.metadata(of: reference, generation: nil), reference, caller)
            if let token = known.first { return dialect.downloadURL(of: reference, token, at: endpoint) }
            return dialect.downloadURL(of: reference, try await newToken(dialect, reference, caller), at: endpoint)
        }
    }

    package func revokeDownloadURL(of reference: Reference, for caller: Caller) async throws(StorageError) -> String {
        guard case .tokens(let dialect) = dialect.links else { throw .signaturesStay(reference, properties.kind) }
        let old = try await tokens(dialect, self.dialect.metadata(of: reference, generation: nil), reference, caller)
        var rest: [String] = []
        for token in old {
            rest = try await tokens(dialect, dialect.deleteToken(token, of: reference), reference, caller)
        }
        // Some servers create a new token when the last one is deleted.
        if let token = rest.first(where: { !old.contains($0) }) {
            return dialect.downloadURL(of: reference, token, at: endpoint)
        }
        return dialect.downloadURL(of: reference, try await newToken(dialect, reference, caller), at: endpoint)
    }

    private func newToken(
        _ dialect: any TokenDialect, _ reference: Reference, _ caller: Caller
    ) async throws(StorageError) -> String {
        let tokens = try await tokens(dialect, dialect.createToken(for: reference), reference, caller)
        guard let token = tokens.last else {
            throw StorageError(
                .unknown, "Object \(reference.object) has no download token, and the server has made none."
            ).about(reference).after(httpStatus: 200)
        }
        return token
    }

    private func tokens(
        _ dialect: any TokenDialect, _ request: RemoteRequest, _ reference: Reference, _ caller: Caller
    ) async throws(StorageError) -> [String] {
        try await retrying(caller) { () async throws(StorageError) in
            let response: HTTPResponse
            do throws(StorageError) {
                response = try await self.success(of: request, reference, caller)
            } catch {
                throw request.method == "POST" && error.code == .unauthorized ? error.needsAdministrator : error
            }
            return try response.understood(about: reference) { response throws(GarbledAnswer) in
                try dialect.tokens(in: response, of: reference)
            }
        }
    }

    private func checkLifetime(_ lifetime: Int64, atMost longest: Int64) throws(StorageError) {
        guard (1...longest).contains(lifetime) else {
            throw .invalidArgument(
                "expiresIn", "expiresIn must be between 1 and \(longest) seconds, not \(lifetime).")
        }
    }

    /// Signed with the caller's own key. Requires that the object exists.
    private func presignedURL(
        of reference: Reference, _ lifetime: Int64, _ dialect: any PresigningDialect, for caller: Caller
    ) async throws(StorageError) -> String {
        try checkLifetime(lifetime, atMost: dialect.longestLifetime)
        _ = try await metadata(of: reference, for: caller)
        let request = self.dialect.metadata(of: reference, generation: nil)
        let tokens = try await tokens(for: request, of: caller)
        let url = tokens.compactMap { token in
            dialect.downloadURL(of: reference, signedWith: token, lifetime: lifetime)
        }.first
        return url ?? self.url(of: self.dialect.media(of: reference, generation: nil, isGzip: false, from: 0, to: nil))
    }

    /// Requires that the caller may read the metadata, since the URL gives the signer's access without credentials.
    private func signedURL(
        of reference: Reference, _ lifetime: Int64, _ dialect: any SignatureDialect, for caller: Caller
    ) async throws(StorageError) -> String {
        try checkLifetime(lifetime, atMost: dialect.longestLifetime)
        _ = try await metadata(of: reference, for: caller)
        if endpoint.isPlain {
            return url(of: self.dialect.media(of: reference, generation: nil, isGzip: false, from: 0, to: nil))
        }
        guard let signer = try await signer?() else {
            throw StorageError(
                .unauthenticated,
                """
                A download URL has to be signed in the name of a service account, and none is known: start with \
                --service-account FILE, or set GOOGLE_APPLICATION_CREDENTIALS to the path of a credential that has, or \
                acts for, a service account.
                """
            ).about(reference)
        }
        let link = DownloadLink(
            endpoint: endpoint, reference: reference, account: signer.account, time: time.now(), lifetime: lifetime,
            userProject: caller.userProject)
        return try await dialect.downloadURL(link, signedBy: signer)
    }
}

extension StorageError {
    fileprivate static func signaturesStay(_ reference: Reference, _ engine: EngineKind) -> StorageError {
        StorageError(
            .unknown,
            """
            Download URLs of \(engine == .s3 ? "S3" : "Google Cloud Storage") are signed, so none can be revoked: each one ends by itself, \
            7 days after it was given, or as expiresIn said.
            """
        ).about(reference)
    }

    fileprivate var needsAdministrator: StorageError {
        adding("Download tokens are made and revoked with an administrator's credentials only.")
    }
}
