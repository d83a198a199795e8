import Storage

extension StorageFixture {
    /// What the fixture does where it speaks the protocol of Amazon S3: every path that is not one of Google's.
    package struct S3Settings: Sendable {
        /// Whose answers it gives where servers differ.
        package enum Server: Sendable, CaseIterable {
            /// Ceph 16.
            case ceph
            case aws
            /// OpenStack Swift.
            case swift
            /// Ceph with ETags that are no MD5, as with keys of a key management service.
            case kms
            /// Ceph that wants parts of one size.
            case equalParts
        }

        package var server = Server.ceph
        /// The one key of which signatures are taken.
        package var accessKey = AccessKey(
            id: "FIXTUREACCESSKEY0001", secret: "sEcReT/of+the/fixture=0123456789abcdefgh")
        /// The IDs of keys that have expired.
        package var expiredKeys: Set<String> = []
        /// Whether requests without a signature are answered.
        package var isPublic = true
        /// The only region that signatures may name; any where nil.
        package var region: String?
        /// How far the clock is ahead of that of the machine, in seconds.
        package var skew: Int64 = 0
        /// The smallest size of a part, but for the last one.
        package var smallestPart = 5 << 20
        /// How often a Complete is answered with 500 after one whose answer was lost.
        package var lockedCompletes = 0
        /// The names that `POST ?delete` does not delete.
        package var undeletable: Set<String> = []

        package init() {}
    }

    /// The document of an error, which an answer with the status 200 may have, too.
    package static func s3Error(_ code: String) -> String {
        String(decoding: Answer.s3(500, code).body, as: UTF8.self)
    }

    /// What a proxy answers instead of the server.
    package static let htmlError = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
}

extension StorageFixture.S3Settings.Server {
    /// Ceph's answers, and its objects that a wrong request destroys.
    var isCeph: Bool { self != .aws && self != .swift }
    var mostParts: Int { self == .swift ? 1000 : 10_000 }
}
