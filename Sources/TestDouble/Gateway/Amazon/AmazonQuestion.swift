import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// A question of Amazon S3 about a property that no bucket and no object has, and the answer that clients expect then:
/// an empty document, or the error that says so.
struct AmazonQuestion: Sendable {
    enum Answer: Sendable {
        case document(XMLElement)
        /// The code of a 404.
        case none(String)
    }

    /// The subresource.
    let param: String
    let answer: Answer
    /// The member of a bucket's resource in the JSON API that would be the answer, if the bucket has it.
    private let member: String?

    private init(_ param: String, _ answer: Answer, unless member: String? = nil) {
        (self.param, self.answer, self.member) = (param, answer, member)
    }

    static let ofBuckets: [AmazonQuestion] = [
        .init("accelerate", .document(XMLElement("AccelerateConfiguration", []))),
        .init("acl", .document(ownersControl)),
        .init("cors", .none("NoSuchCORSConfiguration"), unless: "cors"),
        .init("encryption", .none("ServerSideEncryptionConfigurationNotFoundError")),
        .init("lifecycle", .none("NoSuchLifecycleConfiguration"), unless: "lifecycle"),
        .init("logging", .document(XMLElement("BucketLoggingStatus", []))),
        .init("notification", .document(XMLElement("NotificationConfiguration", []))),
        .init("object-lock", .none("ObjectLockConfigurationNotFoundError")),
        .init("ownershipControls", .document(ownership)),
        .init("policy", .none("NoSuchBucketPolicy")), .init("policyStatus", .none("NoSuchBucketPolicy")),
        .init("publicAccessBlock", .none("NoSuchPublicAccessBlockConfiguration")),
        .init("replication", .none("ReplicationConfigurationNotFoundError")),
        .init("requestPayment", .document(payment), unless: "billing"),
        .init("tagging", .none("NoSuchTagSet"), unless: "labels"),
        .init("versioning", .document(XMLElement("VersioningConfiguration", []))),
        .init("website", .none("NoSuchWebsiteConfiguration"), unless: "website"),
    ]

    static let ofObjects: [AmazonQuestion] = [
        .init("acl", .document(ownersControl)),
        .init("tagging", .document(XMLElement("Tagging", [XMLElement("TagSet", [])]))),
    ]

    private static let owner = XMLElement("Owner", ["ID": StoredBucket.projectNumber])
    private static let payment = XMLElement("RequestPaymentConfiguration", ["Payer": "BucketOwner"])
    private static let ownership = XMLElement(
        "OwnershipControls", [XMLElement("Rule", ["ObjectOwnership": "BucketOwnerEnforced"])])
    private static let ownersControl: XMLElement = {
        var grantee = XMLElement("Grantee", ["ID": StoredBucket.projectNumber])
        grantee.attributes = [
            ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"), ("xsi:type", "CanonicalUser"),
        ]
        let grant = XMLElement("Grant", [grantee, XMLElement("Permission", "FULL_CONTROL")])
        return XMLElement("AccessControlPolicy", [owner, XMLElement("AccessControlList", [grant])])
    }()

    /// Answers for a bucket, or for an object, that exists.
    @Loop func answer(to call: Call) async throws -> HTTPServerResponse {
        let bucket = try await call.service.engine.bucket(call.bucket)
        if let member, bucket.cloud("")[member] != nil {
            throw GatewayError(501, "The \(param) of this bucket is served by the JSON API alone, as \(member).")
        }
        if call.name != nil { _ = try await call.service.engine.metadata(of: call.object, for: call.service.caller) }
        switch answer {
        case .document(let root): return .xml(root.document())
        case .none(let code): throw GatewayError(404, code: code, "There is no \(param) here.")
        }
    }
}
