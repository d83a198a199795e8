import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

// Who may do what, by the table that a test has set. It is about Firebase Storage's API alone: clients of Google Cloud
// Storage are servers, for which security rules do not count.
extension GatewayService {
    /// Throws 403 for what the table does not allow.
    func check(_ action: AccessTable.Action, _ url: String, for request: GatewayRequest) throws(GatewayError) {
        guard !access.allows(action, url, by: request.requester) else { return }
        let permission =
            switch action {
            case .get: "READ"
            case .list: "LIST"
            case .create, .update, .delete: "WRITE"
            }
        throw GatewayError(403, "Permission denied. No \(permission) permission.")
    }

    /// A download token opens its object, whatever the table says.
    func checkMedia(of object: Reference, for request: GatewayRequest) async throws {
        if let token = request["token"], try await engine.isOpen(object, to: token) { return }
        try check(.get, object.url, for: request)
    }

    /// An upload creates an object or replaces one.
    func checkUpload(to object: Reference, for request: GatewayRequest) async throws {
        let isThere = (try? await engine.metadata(of: object, for: caller)) != nil
        try check(isThere ? .update : .create, object.url, for: request)
    }
}

extension GatewayRequest {
    /// By a token that is decoded and never verified.
    var requester: AccessTable.Requester {
        let words = (header("Authorization") ?? "").split(separator: " ", maxSplits: 1)
        guard words.count == 2, !words[1].isEmpty else { return .anonymous }
        // The emulator's word for an administrator.
        return words[1] == "owner" ? .owner : .user(uid: Self.uid(ofToken: words[1]))
    }

    /// The subject of a JSON Web Token.
    private static func uid(ofToken token: Substring) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var payload = parts[1].replacing("-", with: "+").replacing("_", with: "/")
        payload += String(repeating: "=", count: (4 - payload.utf8.count % 4) % 4)
        guard let bytes = [UInt8](base64: String(payload)), let json = JSON(wire: bytes) else { return nil }
        return json["sub"]?.string ?? json["user_id"]?.string
    }
}
