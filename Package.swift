// swift-tools-version: 6.2
import PackageDescription

// Arrows point from a room to the rooms it may look into; the compiler keeps them.
let package = Package(
    name: "storage-rpc",
    products: [.executable(name: "storage-rpc", targets: ["storage-rpc"])],
    targets: [
        .executableTarget(
            name: "storage-rpc",
            dependencies: [
                "Methods", "Tracing", "EmbeddedEngine", "GoogleEngines", "TaskStore", "LocalFiles", "Roots",
                "Credentials", "Transfers", "Storage", "HTTP", "JSONRPC", "JSONText", "Secrets", "EventLoop", "CSystem",
            ],
            // Starts in half the time, and runs where there is no Swift. Debug builds are linked into the tests.
            linkerSettings: [
                .unsafeFlags(
                    ["-static-stdlib", "-l_FoundationCShims", "-l_FoundationCollections"],
                    .when(platforms: [.linux], configuration: .release))
            ]),
        .target(
            name: "Methods", dependencies: ["JSONRPC", "JSONText", "Transfers", "Storage", "EventLoop", "Contract"]),
        .target(name: "Transfers", dependencies: ["Storage", "EventLoop"]),
        .target(
            name: "EmbeddedEngine",
            dependencies: [
                "TaskStore", "Roots", "LocalFiles", "Storage", "Database", "HTTPServing", "HTTPText", "Checksums",
                "EventLoop",
            ]),
        .target(
            name: "GoogleEngines",
            dependencies: [
                "LocalFiles", "Storage", "HTTP", "HTTPServing", "HTTPText", "JSONText", "Secrets", "Checksums",
                "EventLoop",
            ]),
        .target(
            name: "TaskStore",
            dependencies: ["Roots", "LocalFiles", "Storage", "Database", "JSONText", "Secrets", "EventLoop"]),
        .target(name: "Roots", dependencies: ["Storage", "Database", "EventLoop"]),
        .target(name: "LocalFiles", dependencies: ["Storage", "Checksums", "EventLoop", "CSystem"]),
        .target(name: "Storage", dependencies: ["Secrets", "MediaTypes"]),
        .target(name: "JSONRPC", dependencies: ["JSONText", "Secrets", "EventLoop", "CSystem"]),
        .target(name: "JSONText"),
        .target(name: "Secrets"),
        .target(name: "Database", dependencies: ["CSQLite", "CSystem"]),
        .target(name: "HTTP", dependencies: ["EventLoop", "CCurl"]),
        .target(
            name: "Credentials",
            dependencies: ["Storage", "HTTP", "JSONText", "Secrets", "EventLoop", "CCrypto", "CSystem"]),
        .target(
            name: "Tracing", dependencies: ["JSONRPC", "JSONText", "Secrets", "Storage", "EventLoop", "TracePage"]),
        .target(name: "HTTPServing", dependencies: ["CChecksums", "EventLoop", "CSystem"]),
        .target(name: "HTTPText"),
        .target(name: "Checksums", dependencies: ["CChecksums"]),
        .target(name: "EventLoop", dependencies: ["CSystem"]),

        .target(
            name: "Contract", path: "protocol",
            exclude: [
                "README.md", "CHANGELOG.md", "promises.md", "reference.md", "render.py", "rendering", "validate.py",
                "openrpc.json",
                "transcripts",
            ],
            sources: ["contract.c"]),
        .target(name: "CCrypto", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "CChecksums"),
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "CSystem"),
        .target(name: "TracePage", exclude: ["page.html", "page.css", "page.js"]),
        .target(name: "MediaTypes", exclude: ["media-types.txt"]),

        .target(
            name: "TestSupport",
            dependencies: [
                "Methods", "EmbeddedEngine", "GoogleEngines", "Roots", "Transfers", "Storage", "JSONRPC", "JSONText",
                "HTTP", "HTTPServing", "EventLoop", "CChecksums", "Contract", "CSystem",
            ],
            path: "Tests/TestSupport"),
        .testTarget(name: "EventLoopTests", dependencies: ["EventLoop", "TestSupport"]),
        .testTarget(name: "JSONRPCTests", dependencies: ["JSONRPC", "JSONText", "EventLoop", "TestSupport"]),
        .testTarget(name: "JSONTextTests", dependencies: ["JSONText", "TestSupport"]),
        .testTarget(name: "SecretsTests", dependencies: ["Secrets", "TestSupport"]),
        .testTarget(name: "StorageTests", dependencies: ["Storage", "MediaTypes", "TestSupport"]),
        .testTarget(name: "TransfersTests", dependencies: ["Transfers", "Storage", "EventLoop", "TestSupport"]),
        .testTarget(name: "DatabaseTests", dependencies: ["Database", "CChecksums"]),
        .testTarget(
            name: "BackendsTests",
            dependencies: [
                "EmbeddedEngine", "GoogleEngines", "TaskStore", "Roots", "LocalFiles", "Transfers", "Storage",
                "Database", "HTTP", "HTTPServing", "JSONText", "Checksums", "EventLoop", "TestSupport",
            ]),
        .testTarget(
            name: "MethodsTests",
            dependencies: ["Methods", "Transfers", "Storage", "JSONRPC", "JSONText", "EventLoop", "TestSupport"]),
        .testTarget(name: "ContractTests", dependencies: ["Methods", "Storage", "JSONRPC", "JSONText", "TestSupport"]),
        .testTarget(name: "HTTPTests", dependencies: ["HTTP", "EventLoop", "TestSupport"]),
        .testTarget(
            name: "CredentialsTests",
            dependencies: ["Credentials", "CCrypto", "Storage", "HTTP", "JSONText", "EventLoop", "TestSupport"]),
        .testTarget(
            name: "HTTPServingTests",
            dependencies: ["HTTPServing", "CChecksums", "EventLoop", "CSystem", "TestSupport"]),
        .testTarget(
            name: "TracingTests",
            dependencies: ["Tracing", "JSONRPC", "JSONText", "Secrets", "EventLoop", "TestSupport"]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "storage-rpc", "Methods", "HTTP", "EventLoop", "JSONText", "Secrets", "CChecksums", "TestSupport",
            ]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c2x
)

// Built by Tests/Fuzz/run alone, for it needs sanitizers.
if Context.environment["STORAGE_RPC_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "Methods", "EmbeddedEngine", "GoogleEngines", "TaskStore", "Roots", "LocalFiles", "Transfers",
                "Credentials", "Storage", "HTTP", "HTTPServing", "JSONRPC", "JSONText", "Secrets", "Database",
                "Checksums", "HTTPText", "EventLoop", "CCrypto",
            ],
            path: "Tests/Fuzz", exclude: ["Corpus", "run", "words.dict"]))
}

let cTargets: Set = ["Contract", "CCrypto", "CCurl", "CChecksums", "CSQLite", "CSystem", "MediaTypes", "TracePage"]
for target in package.targets where !cTargets.contains(target.name) {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .treatAllWarnings(as: .error),
    ]
}
