import Foundation

// The envelopes of JSON-RPC.

struct Request<Call: StorageCall>: Encodable {
    var jsonrpc = "2.0"
    let id: Int
    let method: String
    let params: Call
}

struct Notice: Encodable {
    var jsonrpc = "2.0"
    let method: String
    let params: [String: Int]
}

/// An answer to the service.
struct Reply: Encodable {
    struct Failure: Encodable {
        let code: Int
        let message: String
    }

    var jsonrpc = "2.0"
    let id: Int
    var result: String?
    var error: Failure?
}

struct RefreshRequest: Decodable {
    struct Params: Decodable { let kind: StorageWire.TokenKind }
    let params: Params
}

/// What distinguishes the kinds of messages. Ids of others are not those of this client.
struct Head: Decodable {
    let id: Int?
    let method: String?

    private enum Key: CodingKey { case id, method }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try? container.decode(Int.self, forKey: .id)
        method = try container.decodeIfPresent(String.self, forKey: .method)
    }
}

struct Event<Snapshot: Decodable>: Decodable {
    struct Params: Decodable { let snapshot: Snapshot }
    let params: Params
}

struct Changed: Decodable {
    struct Params: Decodable {
        let handle: String
        let change: StorageChange.Kind
        let reference: StorageWire.Reference
        let generation: String?
        let metageneration: String?
    }
    let params: Params
}

/// An answer to one method: the result, or the error.
private struct Answered<Call: StorageCall>: Decodable {
    let result: Call.Answer?
    let error: StorageWire.StorageError?

    private enum Key: CodingKey { case result, error }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let error = try container.decodeIfPresent(Failure.self, forKey: .error) {
            let data = error.data ?? .init(name: "", retryable: false)
            (result, self.error) = (nil, .init(code: error.code, message: error.message, data: data))
        } else if let nothing = try StorageWire.Nothing(from: decoder) as? Call.Answer {
            (result, self.error) = (nothing, nil)
        } else {
            (result, self.error) = (try container.decode(Call.Answer.self, forKey: .result), nil)
        }
    }

    /// The data of JSON-RPC's own errors may lack what those of storage have.
    private struct Failure: Decodable {
        let code: Int64
        let message: String
        let data: StorageWire.StorageErrorData?

        private enum Key: CodingKey { case code, message, data }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            code = try container.decode(Int64.self, forKey: .code)
            message = try container.decode(String.self, forKey: .message)
            data = try? container.decode(StorageWire.StorageErrorData.self, forKey: .data)
        }
    }
}

extension Session {
    static var decoder: JSONDecoder { JSONDecoder() }

    /// - Parameter failure: makes the error that is thrown of that in the answer.
    static func answer<Call: StorageCall>(
        to call: Call.Type, in line: Data, failure: (StorageWire.StorageError) -> StorageError
    ) throws(StorageError) -> Call.Answer {
        let answered: Answered<Call>
        do {
            answered = try decoder.decode(Answered<Call>.self, from: line)
        } catch {
            throw .internalError(message: "The answer to \(Call.method) cannot be read: \(error)")
        }
        if let error = answered.error { throw failure(error) }
        guard let result = answered.result else {
            throw .internalError(message: "The answer to \(Call.method) has no result.")
        }
        return result
    }

    static func line(_ message: some Encodable) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return ((try? encoder.encode(message)) ?? Data()) + Data("\n".utf8)  // Values of the contract can be written.
    }
}

/// What a `Storage` says of its settings, which the service keeps for a connection.
struct SessionSettings: Equatable {
    var maxUploadRetryTime = 600.0
    var maxDownloadRetryTime = 600.0
    var maxOperationRetryTime = 120.0
    /// Nil while the service chooses.
    var uploadChunkSizeBytes: Int64?

    /// Settings that replace others: a size that was set cannot be unset, but be larger than any object.
    func after(_ old: SessionSettings) -> SessionSettings {
        var new = self
        if uploadChunkSizeBytes == nil && old.uploadChunkSizeBytes != nil { new.uploadChunkSizeBytes = 1 << 40 }
        return new
    }

    var call: StorageCalls.StorageUpdateSettings {
        StorageCalls.StorageUpdateSettings(
            maxUploadRetryTime: maxUploadRetryTime, maxDownloadRetryTime: maxDownloadRetryTime,
            maxOperationRetryTime: maxOperationRetryTime, uploadChunkSizeBytes: uploadChunkSizeBytes)
    }
}
