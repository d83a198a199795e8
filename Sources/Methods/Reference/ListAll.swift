import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/listAll`: all objects and prefixes directly below a reference.
struct ListAll: ReferenceMethod {
    static let name = "reference/listAll"

    let reference: Reference
    let isExact: Bool

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        isExact = try params.optionalBool("exact") ?? false
    }

    /// An estimate for the most results.
    private static let answerBytes = 16 << 20

    func run(in request: Request<ConnectionContext>) async throws -> EncodedJSON {
        let context = request.context
        try await request.roomToAnswer(expecting: Self.answerBytes)
        let listing = try await context.transfers.listAll(reference, isExact: isExact, for: request.client)
        let most = context.service.configuration.limits.connection.unreadBytes / 2
        guard listing.encodedBytes <= most else { throw StorageError.tooLong(reference, bytes: most) }
        return await listing.encoded()
    }
}

extension StorageError {
    fileprivate static func tooLong(_ reference: Reference, bytes: Int) -> StorageError {
        let what = "names that take more than \(bytes) bytes, half of --max-unread-bytes"
        return StorageError(.quotaExceeded, "\(reference.url) has \(what); reference/list takes any number.").about(
            reference)
    }
}
