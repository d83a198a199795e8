import Foundation
import Platform
import Roots
import Storage
import TestSupport
import Testing

@testable import TaskStore

/// Records with numbers that no request has. Arithmetic with them would end the process.
@Suite(.watchdog(minutes: 10)) struct DamagedRequestTests {
    private static func request(retryTime: Double = 1, size: Int64 = 1, announced: Int64? = nil) -> TaskRequest {
        let identity = FileIdentity(
            size: size, modifiedSeconds: .min, modifiedNanoseconds: .max, inode: .max, ends: .max)
        var request = TaskRequest(file: "/f", identity: identity, retryTime: retryTime, hasOwnTokens: false)
        request.size = announced
        return request
    }

    private func records(of request: TaskRequest, number: Int64 = 1) async throws -> [Result<TaskRecord, StorageError>]
    {
        let scratch = try Scratch()
        let taskStore = DatabaseTaskStore(try StorageRoot(scratch.path + "/root"), place: "p")
        var record = try TaskRecord.sample()
        (record.number, record.stage) = (number, .unfinished(request, nil))
        try await taskStore.keep(record, isUrgent: true)
        return try await taskStore.records()
    }

    private func failure(of request: TaskRequest, number: Int64 = 1) async throws -> StorageError? {
        if case .failure(let error) = try await records(of: request, number: number).first { error } else { nil }
    }

    @Test func `A record with an impossible number is unreadable, and the number is named`() async throws {
        let damaged = [
            (Self.request(retryTime: 1e300), "1e+300"), (Self.request(retryTime: -1), "-1"),
            (Self.request(size: -1), "-1"), (Self.request(size: .min), "\(Int64.min)"),
            (Self.request(announced: -1), "-1"),
        ]
        for (request, number) in damaged {
            let error = try #require(try await failure(of: request))
            #expect(error.message.contains(number) && error.message.contains("cannot be restored"))
        }
        for number in [Int64.max, .max / 2, -1] as [Int64] {
            let error = try #require(try await failure(of: Self.request(), number: number))
            #expect(error.message.contains("\(number)"))
        }
    }

    @Test func `The largest numbers that a request may have are kept`() async throws {
        let request = Self.request(retryTime: 31_536_000, size: .max, announced: .max)
        #expect(try await records(of: request)[0].get().request == request)
    }
}
