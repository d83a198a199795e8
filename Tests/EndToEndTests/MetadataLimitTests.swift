import Foundation
import JSONText
import TestSupport
import Testing

/// Metadata that is too large is refused by the program before it keeps any of it.
@Suite(.watchdog) struct MetadataLimitTests {
    @Test(arguments: RestartableService.Engine.allCases)
    func `Metadata beyond the limit is refused without using memory or changing the root`(
        engine: RestartableService.Engine
    )
        async throws
    {
        try await RestartableService.run(engine) { program in
            try program.start()
            let reference: JSON = "gs://default-bucket/a"
            try program.call("reference/putData", ["reference": reference, "text": "x", "wait": true])
            let large = repeated("x", 4 << 20)
            func refuse(_ method: String, _ members: JSON, _ param: String) throws {
                var params: [JSON.Member] = [
                    .init(key: "reference", value: reference), .init(key: "metadata", value: members),
                ]
                if method == "reference/putData" { params.append(.init(key: "text", value: "y")) }
                let error = try program.refused { try program.call(method, .object(params)) }
                try #require(error["code"] == -13050 && error["data"]?["param"]?.string == param)
                try #require(error["message"]?.string?.hasSuffix(" bytes, but at most 8192 may be stored.") == true)
            }
            for method in ["reference/putData", "reference/updateMetadata"] {
                try refuse(method, ["cacheControl": .string(large)], "metadata.cacheControl")
            }
            let (memory, root) = (try program.residentBytes, try program.filesOfTheRoot)
            for _ in 0..<30 {
                try refuse("reference/putData", ["cacheControl": .string(large)], "metadata.cacheControl")
                try refuse(
                    "reference/updateMetadata", ["customMetadata": ["key": .string(large)]], "metadata.customMetadata")
            }
            #expect(try program.residentBytes - memory < 32 << 20)
            #expect(try program.filesOfTheRoot == root)
            #expect(try program.tasks().count == 1)
            let metadata = try program.call("reference/getMetadata", ["reference": reference])
            #expect(metadata["size"] == 1 && metadata["cacheControl"] == nil)
            try program.terminate()
        }
    }
}
