import Platform
import JSONText
import Storage

/// Application default credentials: a file, or the metadata server.
struct ApplicationDefault: Sendable {
    let environment: @Sendable (String) -> String?
    let context: CredentialContext

    private static let path = "GOOGLE_APPLICATION_CREDENTIALS"

    /// The environment names the file of the credentials.
    var areNamed: Bool { variable(Self.path) != nil }

    func find() async throws(StorageError) -> any GoogleCredential { try await credential(file()) }

    /// The file of the credentials; nil if the metadata server provides them.
    func file() async throws(StorageError) -> (file: CredentialFile, json: JSON)? {
        if let path = variable(Self.path) {
            let file = CredentialFile(path: path, name: Self.path)
            return (file, try await file.read())
        }
        guard let path = gcloudPath else { return nil }
        let file = CredentialFile(path: path, name: "gcloud")
        return try await file.readIfThere().map { (file, $0) }
    }

    func credential(_ found: (file: CredentialFile, json: JSON)?) async throws(StorageError) -> any GoogleCredential {
        let credential: any GoogleCredential =
            if let found { try await found.file.credential(found.json) } else {
                MetadataServer(host: variable("GCE_METADATA_HOST"))
            }
        guard let project = variable("GOOGLE_CLOUD_QUOTA_PROJECT") else { return credential }
        return BilledCredential(credential: credential, project: project)
    }

    private var gcloudPath: String? {
        let directory = variable("CLOUDSDK_CONFIG") ?? variable("HOME").map { $0 + "/.config/gcloud" }
        return directory.map { $0 + "/application_default_credentials.json" }
    }

    private func variable(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
}

/// Caches the signer of the application default credentials, with its tokens, until the credentials' file changes.
@Loop
final class CachedSigner {
    private let credentials: ApplicationDefault
    private var kept: (json: JSON?, signer: (any URLSigner)?)?

    nonisolated init(_ credentials: ApplicationDefault) { self.credentials = credentials }

    func signer() async throws(StorageError) -> (any URLSigner)? {
        let found = try await credentials.file()
        if let kept, kept.json == found?.json { return kept.signer }
        let signer = try await credentials.credential(found).signer(credentials.context)
        kept = (found?.json, signer)
        return signer
    }
}
