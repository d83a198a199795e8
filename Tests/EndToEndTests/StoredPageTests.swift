import Foundation
import JSONText
import TestSupport
import Testing

/// Headers of download URLs that restrict what a browser does with an object.
@Suite(.watchdog) struct StoredPageTests {
    @Test func `A stored page is sandboxed, and a service worker is refused`() async throws {
        try await RestartableService.run(.embedded) { program in
            try program.start()
            let object: JSON = "gs://default-bucket/page.html"
            let page = "<script>alert(1)</script>"
            try program.call("reference/putData", ["reference": object, "text": .string(page), "wait": true])
            let url = try #require(try program.call("reference/downloadURL", ["reference": object])["url"]?.string)
            func fetch(_ words: String...) -> String { Command("curl", ["-sS", "-i"] + words + [url]).runHere().text }
            let answer = fetch().replacing("\r\n", with: "\n")
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\n") && answer.hasSuffix("\n\n" + page), "\(answer)")
            for header in [
                "Content-Type: text/html", "Content-Security-Policy: sandbox", "X-Content-Type-Options: nosniff",
            ] {
                #expect(answer.contains("\n\(header)\n"), "\(answer)")
            }
            let refused = fetch("-H", "Service-Worker: script")
            #expect(refused.hasPrefix("HTTP/1.1 403 ") && !refused.contains(page), "\(refused)")
            try program.terminate()
        }
    }
}
