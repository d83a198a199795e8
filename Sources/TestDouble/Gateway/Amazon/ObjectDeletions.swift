import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage

/// `POST /BUCKET?delete`: deletes the objects that the body names.
@Loop struct ObjectDeletions: Answering {
    private static let most = 1000
    private static let mostBytes = 4 << 20

    let call: Call

    private struct Deletion {
        let reference: Reference
        /// The generation of the object, in the element of Amazon S3's versions.
        let version: String?
        /// The ETag that the object must have.
        let tag: String?
        let conditions: Preconditions
    }

    func answer() async throws -> HTTPServerResponse {
        let (deletions, isQuiet) = try await deletions()
        return try await service.inTurn { try await delete(deletions, isQuiet) }
    }

    private func delete(_ deletions: [Deletion], _ isQuiet: Bool) async throws -> HTTPServerResponse {
        _ = try await service.engine.bucket(bucket)
        var results: [XMLElement] = []
        for deletion in deletions {
            var members = [XMLElement("Key", deletion.reference.object)]
            if let version = deletion.version { members.append(XMLElement("VersionId", version)) }
            if let error = await error(of: deletion) {
                members += [XMLElement("Code", error.xmlCode), XMLElement("Message", error.message)]
                results.append(XMLElement("Error", members))
            } else if !isQuiet {
                results.append(XMLElement("Deleted", members))
            }
        }
        return .xml(XMLElement("DeleteResult", results).document())
    }

    /// Reads all deletions before the first one is carried out.
    private func deletions() async throws -> ([Deletion], isQuiet: Bool) {
        let root = try await request.xmlBody("Delete", atMost: Self.mostBytes)
        var (deletions, isQuiet) = ([Deletion](), false)
        for child in root.children {
            switch child.name {
            case "Quiet":
                guard let quiet = Bool(child.text) else { throw GatewayError.malformedXML("Quiet is true or false") }
                isQuiet = quiet
            case "Object":
                let members = try child.members(["Key", "VersionId", "ETag"])
                guard let key = members["Key"], !key.isEmpty else {
                    throw GatewayError.malformedXML("an object has no key")
                }
                let generation = try members["VersionId"].flatMap { text throws(GatewayError) -> Int64? in
                    // The version of an object in a bucket without versions.
                    if text == "null" { return nil }
                    guard let number = Int64(digits: text) else {
                        throw .badRequest("VersionId is no generation: \(text.prefix(200))")
                    }
                    return number
                }
                deletions.append(
                    Deletion(
                        reference: try .named(key, in: bucket), version: members["VersionId"],
                        tag: members["ETag"], conditions: Preconditions(named: generation)))
            default: throw GatewayError(501, "The element \(child.name.prefix(200)) of Delete is not served here.")
            }
        }
        guard (1...Self.most).contains(deletions.count) else {
            throw GatewayError.malformedXML("it has 1 to \(Self.most) objects, not \(deletions.count)")
        }
        return (deletions, isQuiet)
    }

    /// Carries out a deletion. Returns the error, if any; a missing object is none.
    private func error(of deletion: Deletion) async -> GatewayError? {
        do {
            var conditions = deletion.conditions
            if let tag = deletion.tag { try await service.bind(&conditions, toTag: tag, of: deletion.reference) }
            try await service.backend.delete(deletion.reference, if: conditions, for: service.caller)
        } catch let error as StorageError
            where error.code == .objectNotFound || deletion.tag != nil && error.isAboutNothing
        {
        } catch let error {
            return GatewayError(describing: error)
        }
        return nil
    }
}
