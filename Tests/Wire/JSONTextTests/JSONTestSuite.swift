import Foundation

/// The files of nst/JSONTestSuite, which are outside of the checkout.
enum JSONTestSuite {
    struct File: Sendable {
        let name: String
        let bytes: [UInt8]
    }

    static let isMissing: String = "JSONTestSuite is not beside the checkout (shared/data/JSONTestSuite)"

    static let files: [File] = {
        guard let folder, let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else {
            return []
        }
        return names.sorted().compactMap { name in
            FileManager.default.contents(atPath: folder.appending(path: name).path).map {
                File(name: name, bytes: Array($0))
            }
        }
    }()

    static func files(_ prefix: String) -> [File] {
        files.filter { $0.name.hasPrefix(prefix) }
    }

    private static let folder: URL? = {
        var ancestor = URL(filePath: #filePath)
        while ancestor.pathComponents.count > 1 {
            ancestor.deleteLastPathComponent()
            let folder = ancestor.appending(path: "shared/data/JSONTestSuite/test_parsing")
            if FileManager.default.fileExists(atPath: folder.path) { return folder }
        }
        return nil
    }()
}
