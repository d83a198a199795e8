import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

// Access by the table that a test has set. The table applies to Firebase Storage's API alone: clients of Google Cloud
// Storage are servers, to which security rules do not apply.
extension GatewayService {
    private func allows(_ action: AccessTable.Action, _ url: String, _ request: GatewayRequest) -> Bool {
        access.allows(action, url, by: request.requester)
    }

    /// Throws 403 for what the table does not allow.
    func check(_ action: AccessTable.Action, _ url: String, for request: GatewayRequest) throws(GatewayError) {
        guard !allows(action, url, request) else { return }
        throw switch action {
        case .get: .denied("READ")
        case .list: .denied("LIST")
        case .create, .update, .delete: .denied("WRITE")
        }
    }

    /// Answers with the bytes of an object, if the table allows it or the request has a download token of the object.
    func allowedMedia(of object: Reference, for request: GatewayRequest) async throws -> HTTPServerResponse {
        if allows(.get, object.url, request) { return try await media(of: object, for: request) }
        guard let token = request["token"] else { throw GatewayError.denied("READ") }
        do {
            return try await media(of: object, openTo: token, for: request)
        } catch let error as StorageError where error.code == .objectNotFound {
            throw GatewayError.denied("READ")
        }
    }

    /// The preconditions of an upload, which creates or replaces an object: if only one is allowed, they require that
    /// one.
    func uploadConditions(to object: Reference, for request: GatewayRequest) async throws -> Preconditions {
        let (creates, replaces) = (allows(.create, object.url, request), allows(.update, object.url, request))
        if creates, replaces { return Preconditions() }
        // Refused at once, rather than behind the bytes.
        let isThere = (try? await engine.metadata(of: object, for: caller)) != nil
        guard isThere ? replaces : creates else { throw GatewayError.denied("WRITE") }
        return creates ? Preconditions(generation: 0) : Preconditions(notGeneration: 0)
    }

    /// Answers an upload. A failed precondition becomes 403: the API has none but those of `uploadConditions`.
    func deniedByCondition(_ body: @Loop () async throws -> HTTPServerResponse) async throws -> HTTPServerResponse {
        do {
            return try await body()
        } catch let error as StorageError where error.code == .preconditionFailed {
            throw GatewayError.denied("WRITE").final
        } catch let error as GatewayError where error.status == 412 {
            throw GatewayError.denied("WRITE").final
        }
    }
}

extension GatewayError {
    fileprivate static func denied(_ permission: String) -> GatewayError {
        GatewayError(403, "Permission denied. No \(permission) permission.")
    }
}

extension GatewayRequest {
    /// The client that the token names. The token is decoded and never verified.
    var requester: AccessTable.Requester {
        let words = (header("Authorization") ?? "").split(separator: " ", maxSplits: 1)
        guard words.count == 2, !words[1].isEmpty, ["firebase", "bearer"].contains(words[0].lowercased()) else {
            return .anonymous
        }
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
