import Checksums
import TestSupport
import Testing

@Suite(.watchdog) struct SHA256Tests {
    private static let known: [(count: Int, digest: String)] = [
        (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (3, "ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc"),
        (55, "463eb28e72f82e0a96c0a4cc53690c571281131f672aa229e0d45ae59b598b59"),
        (56, "da2ae4d6b36748f2a318f23e7ab1dfdf45acdc9d049bd80e59de82a60895f562"),
        (63, "29af2686fd53374a36b0846694cc342177e428d1647515f078784d69cdb9e488"),
        (64, "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"),
        (119, "da18797ed7c3a777f0847f429724a2d8cd5138e6ed2895c3fa1a6d39d18f7ec6"),
        (120, "f52b23db1fbb6ded89ef42a23ce0c8922c45f25c50b568a93bf1c075420bbb7c"),
        (1000, "4e4c294b331f7a2099a379bec34b9f9fc03dc46ab465d998f4d683da53487e6d"),
    ]

    private func digest(_ bytes: [UInt8], cutAt cut: Int) throws -> String {
        let hash = try #require(CryptoHash(.sha256, CryptoLibrary.ofSystem.get()))
        for piece in [bytes[..<cut], bytes[cut...]] { piece.withUnsafeBytes { hash.update($0) } }
        return try #require(hash.digest).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test func `The SHA-256 of bytes does not depend on their pieces`() throws {
        for (count, expected) in Self.known {
            let bytes = (0..<count).map { UInt8($0 % 251) }
            for cut in Set([0, count / 3, count / 2, max(0, count - 1), count]) {
                #expect(try digest(bytes, cutAt: cut) == expected, "\(count), cut at \(cut)")
            }
        }
    }
}
