import Platform
import HTTPText
import Storage

// Signatures of Google, version 4.
extension DownloadLink {
    func signed(by signer: any URLSigner) async throws(StorageError) -> String {
        let hash = try await signer.hash(Array(canonicalRequest.utf8))
        return url(signature: try await signer.sign(Array(textToSign(hash: hash).utf8)))
    }

    var canonicalRequest: String {
        ["GET", path, query, "host:\(host)", "", "host", "UNSIGNED-PAYLOAD"].joined(separator: "\n")
    }

    func textToSign(hash: [UInt8]) -> String {
        ["GOOG4-RSA-SHA256", moment, scope, hash.hexadecimal].joined(separator: "\n")
    }

    func url(signature: [UInt8]) -> String {
        "\(endpoint.url)\(path)?\(query)&X-Goog-Signature=\(signature.hexadecimal)"
    }

    /// The path of the object; slashes in its name are not escaped.
    private var path: String { "/\(reference.bucket.escaped)/\(reference.object.escaped(keepsSlashes: true))" }

    private var query: String {
        let credential = "\(account)/\(scope)".escaped
        return "X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=\(credential)&X-Goog-Date=\(moment)"
            + "&X-Goog-Expires=\(lifetime)&X-Goog-SignedHeaders=host"
            + (userProject.map { "&userProject=\($0.escaped)" } ?? "")
    }

    private var host: Substring { endpoint.host }
    private var scope: String { "\(moment.prefix(8))/auto/storage/goog4_request" }
    private var moment: String { time.signatureMoment }
}
