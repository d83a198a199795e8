import HTTPClient
import HTTPText
import JSONText
import Storage

/// The `credential_source` of an external account, which says how to get its provider's token.
struct SubjectTokenSource: Sendable {
    private enum Location {
        case file(String)
        case url(String, HTTPHeaders)
    }

    private let location: Location
    /// The member of the JSON answer that contains the token; nil if the whole answer is the token.
    private let field: String?
    private let file: CredentialFile

    init(_ json: JSON?, of file: CredentialFile) throws(StorageError) {
        guard let json, json.object != nil else { throw file.complaint("has no credential_source") }
        self.file = file
        if let path = try file.optionalText("file", in: json) {
            location = .file(path)
        } else if json["environment_id"] == nil, let url = try file.optionalText("url", in: json) {
            location = .url(url, try Self.headers(json["headers"], file))
        } else {
            throw file.complaint("has a credential_source that is not supported here: it has to have a file or a url")
        }
        switch json["format"]?["type"]?.string ?? "text" {
        case "text": field = nil
        case "json": field = try file.text("subject_token_field_name", in: json["format"] ?? .null)
        default: throw file.complaint("has a credential_source whose format is neither text nor json")
        }
    }

    private static func headers(_ json: JSON?, _ file: CredentialFile) throws(StorageError) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for member in json?.object ?? [] {
            guard let value = member.value.string else {
                throw file.complaint("has a credential_source with a header that is no text")
            }
            headers.add(member.key, value)
        }
        return headers
    }

    func token(_ context: CredentialContext) async throws(StorageError) -> Secret {
        switch location {
        case .file(let path): try secret(in: await read(path), "The file \(path) of its credential_source")
        case .url(let url, let headers):
            try secret(in: await answer(of: url, headers, context), "The answer of its credential_source")
        }
    }

    private func read(_ path: String) async throws(StorageError) -> [UInt8] {
        do throws(SmallFile.Unreadable) { return try await SmallFile.read(path) } catch {
            throw noToken("the file \(path) of its credential_source \(error.reason)")
        }
    }

    /// Requests with plain http use no proxy, since the server is on this machine or next to it.
    private func answer(
        of url: String, _ headers: HTTPHeaders, _ context: CredentialContext
    ) async throws(StorageError) -> [UInt8] {
        let response = try await context.response(
            to: HTTPRequest("GET", url, headers: headers), of: "The credential_source of \(file.name), \(file.path),",
            by: url.lowercased().hasPrefix("https:") ? context.http : context.direct, within: context.server)
        guard response.status == 200 else {
            throw noToken(
                "the server of its credential_source answered with status \(response.status)",
                httpStatus: response.status)
        }
        return response.body
    }

    private func secret(in bytes: [UInt8], _ what: String) throws(StorageError) -> Secret {
        var text = String(validating: bytes, as: UTF8.self).map { Array($0.utf8) }
        if let field {
            guard let json = JSON(wire: bytes), let value = json[field]?.string else {
                throw noToken("\(what) is no JSON object with a text as its \(field.quotable() ?? "token")")
            }
            text = Array(value.utf8)
        }
        guard let token = text?.trimmed, !token.isEmpty else { throw noToken("\(what) has no token in it") }
        return Secret(String(decoding: token, as: UTF8.self))
    }

    private func noToken(_ why: String, httpStatus: Int? = nil) -> StorageError {
        .unauthenticated(
            "\(file.origin) gives no token: \(why.prefix(1).lowercased() + why.dropFirst()).", file: file.path,
            httpStatus: httpStatus)
    }
}
