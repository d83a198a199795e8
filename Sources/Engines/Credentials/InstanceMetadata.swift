import HTTPClient
import HTTPText
import Storage

/// The metadata service of a machine of Amazon, in its second version, which gives the keys of the machine's role.
struct InstanceMetadata: Sendable {
    private static let origin = "The metadata service of the machine"
    private static let variable = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
    private static let role = "/latest/meta-data/iam/security-credentials/"

    private let url: String

    /// Throws for a server that is not next to this machine.
    init(_ environment: (String) -> String?) throws(StorageError) {
        let isV6 = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")?.lowercased() == "ipv6"
        let named = environment(Self.variable) ?? (isV6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254")
        guard named.isOfAmazonsNeighbour else {
            throw .unauthenticated("\(Self.variable) names a server that is not on this machine or next to it.")
        }
        url = named.hasSuffix("/") ? String(named.dropLast()) : named
    }

    func token(_ context: CredentialContext) async throws(StorageError) -> Token {
        let session = try await session(context)
        let header: HTTPHeaders = ["X-aws-ec2-metadata-token": session.text]
        let found = try await answer("GET", Self.role, header, context)
        let role = String(decoding: found.body.trimmed.prefix { $0 > 0x20 }, as: UTF8.self)
        guard found.status == 200, !role.isEmpty else {
            throw notThere(.unauthenticated("\(Self.origin) gives no key: it has no role.", httpStatus: found.status))
        }
        let answer = try await answer("GET", Self.role + role.escaped, header, context)
        return try AmazonAnswer.token(in: answer, of: Self.origin, secrets: [session])
    }

    private func session(_ context: CredentialContext) async throws(StorageError) -> Secret {
        let lifetime: HTTPHeaders = ["X-aws-ec2-metadata-token-ttl-seconds": "21600"]
        let response = try await answer("PUT", "/latest/api/token", lifetime, context)
        let text = String(decoding: response.body.trimmed, as: UTF8.self)
        guard response.status == 200, !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw notThere(
                .unauthenticated(
                    "\(Self.origin) gives no key, it refused with status \(response.status).",
                    httpStatus: response.status))
        }
        return Secret(text)
    }

    private func answer(
        _ method: String, _ path: String, _ headers: HTTPHeaders, _ context: CredentialContext
    ) async throws(StorageError) -> HTTPResponse {
        do throws(StorageError) {
            return try await context.response(
                to: HTTPRequest(method, url + path, headers: headers), of: Self.origin, by: context.direct,
                within: context.metadataServer)
        } catch {
            throw error.httpStatus == nil ? notThere(error) : error
        }
    }

    private func notThere(_ cause: StorageError) -> StorageError {
        var error = cause
        error.retryable = false
        error.message =
            "There is no access key in the environment or in a profile, and this machine gives none. "
            + AmazonCredentials.remedy + " " + cause.message
        return error
    }
}
