// swift-tools-version: 6.2
import PackageDescription

// The wings of `Sources` and `Tests`, from the top down: a room depends on rooms of its own wing and of the wings below
// (`ArchitectureTests`).
let wings: KeyValuePairs = [
    "Commands": ["CommandLine", "ModelContext", "Tracing"],
    "Service": ["Methods"],
    "TestDouble": ["Harness", "Gateway"],
    "Engines": ["EmbeddedEngine", "RemoteEngines", "Credentials", "TaskStore", "Roots", "LocalFiles"],
    "Model": ["Transfers", "Storage"],
    "Wire": ["JSONRPC", "JSONText", "HTTPServer", "HTTPClient", "HTTPText", "Secrets"],
    "System": [
        "ClientMemory", "Platform", "Database", "Metrics", "Checksums", "Resources", "CChecksums", "CCrypto", "CCurl",
        "CLibrary",
        "CScan", "CSQLite", "CSystem", "CZlib",
    ],
]

// Arrows point from a room to the rooms it may look into; the compiler keeps them.
let package = Package(
    name: "storage-rpc",
    platforms: [.macOS(.v13)],
    products: [
        .executable(name: "storage-rpc", targets: ["storage-rpc"]),
        .library(name: "StorageRPC", targets: ["StorageRPC"]),
        .library(name: "FirebaseStorage", targets: ["FirebaseStorage"]),
    ],
    targets: [
        .executableTarget(
            name: "storage-rpc",
            dependencies: [
                "CommandLine", "ModelContext", "Methods", "Harness", "Gateway", "Tracing", "EmbeddedEngine",
                "RemoteEngines", "TaskStore", "LocalFiles", "HTTPServer", "ClientMemory",
                "Roots", "Credentials", "Transfers", "Storage", "HTTPClient", "JSONRPC", "JSONText", "Secrets",
                "Platform",
            ],
            exclude: ["static"],
            // Starts in half the time, and needs libc and libm alone: `static` has linker scripts that choose the static
            // libstdc++ where there is one, and `unwinding.ld` leaves out the tables for unwinding, a seventh of
            // the program: no code throws C++ exceptions. A fixed address needs no relocations: 1 MB of the file, and
            // 0.5 MB of the memory of each process. Debug builds are linked into the tests.
            linkerSettings: [
                .unsafeFlags(
                    [
                        "-static-stdlib", "-use-ld=lld",
                        "-Xclang-linker", "-static-libgcc", "-Xclang-linker", "-no-pie", "-Xlinker", "-s",
                        "-Xlinker", "--no-export-dynamic", "-Xlinker", "--icf=all", "-Xlinker", "--no-eh-frame-hdr",
                        "-Xlinker", "-T\(Context.packageDirectory)/Sources/storage-rpc/static/unwinding.ld",
                        "-L", "\(Context.packageDirectory)/Sources/storage-rpc/static",
                        "-Xlinker", "-L\(Context.packageDirectory)/Sources/storage-rpc/static/otherwise",
                    ],
                    .when(platforms: [.linux], configuration: .release))
            ]),
        .target(
            name: "CommandLine",
            dependencies: [
                "Methods", "Tracing", "Credentials", "Transfers", "Roots", "Storage", "HTTPServer", "JSONRPC",
                "JSONText", "HTTPText", "Secrets", "Checksums", "Platform",
            ]),
        .target(
            name: "ModelContext",
            dependencies: ["Storage", "JSONRPC", "JSONText", "HTTPText", "Checksums", "Platform"]),
        .target(
            name: "Tracing", dependencies: ["JSONRPC", "JSONText", "Secrets", "Storage", "Platform", "Resources"]),

        .target(
            name: "Methods",
            dependencies: [
                "JSONRPC", "JSONText", "HTTPText", "Metrics", "Harness", "Transfers", "Storage", "Platform",
                "Resources",
            ]),

        .target(name: "Harness", dependencies: ["Storage", "Platform"]),
        .target(
            name: "Gateway",
            dependencies: [
                "EmbeddedEngine", "Transfers", "Storage", "HTTPServer", "HTTPText", "JSONText", "Checksums",
                "ClientMemory",
                "Platform",
            ]),

        .target(
            name: "EmbeddedEngine",
            dependencies: [
                "TaskStore", "Roots", "LocalFiles", "Storage", "Database", "HTTPServer", "HTTPText", "Checksums",
                "ClientMemory", "Platform",
            ]),
        .target(
            name: "RemoteEngines",
            dependencies: [
                "LocalFiles", "Storage", "HTTPClient", "HTTPText", "JSONText", "Metrics", "Secrets", "Checksums",
                "Platform",
            ]),
        .target(
            name: "Credentials",
            dependencies: [
                "Storage", "HTTPClient", "HTTPText", "JSONText", "Secrets", "Checksums", "Platform", "CCrypto",
            ]),
        .target(
            name: "TaskStore",
            dependencies: [
                "Roots", "LocalFiles", "Storage", "Database", "JSONText", "HTTPText", "Secrets", "Platform",
            ]),
        .target(name: "Roots", dependencies: ["Storage", "Database", "Metrics", "Platform"]),
        .target(name: "LocalFiles", dependencies: ["Storage", "HTTPText", "Checksums", "Platform"]),

        .target(name: "Transfers", dependencies: ["Storage", "Metrics", "Checksums", "Platform"]),
        .target(
            name: "Storage", dependencies: ["JSONText", "Secrets", "HTTPText", "Checksums", "Platform", "Resources"]),

        .target(name: "JSONRPC", dependencies: ["JSONText", "Metrics", "Secrets", "ClientMemory", "Platform"]),
        .target(name: "JSONText", dependencies: ["CScan"]),
        .target(
            name: "HTTPServer",
            dependencies: ["HTTPText", "Metrics", "CChecksums", "CZlib", "ClientMemory", "Platform"]),
        .target(name: "HTTPClient", dependencies: ["HTTPText", "Platform", "CCurl"]),
        .target(name: "HTTPText", dependencies: ["CScan", "Platform"]),
        .target(name: "Secrets"),

        .target(name: "ClientMemory", dependencies: ["Platform"]),
        .target(name: "Platform", dependencies: ["Metrics", "CSystem"]),
        .target(name: "Database", dependencies: ["Platform", "CSQLite"]),
        .target(name: "Metrics"),
        .target(name: "Checksums", dependencies: ["CChecksums", "CCrypto"]),
        .target(name: "Resources", exclude: ["page.html", "page.css", "page.js", "media-types.txt"]),
        // MD5 without optimization takes a quarter of the speed: half the time of many suites in debug builds.
        .target(name: "CChecksums", cSettings: [.unsafeFlags(["-O2"])]),
        .target(name: "CCrypto", dependencies: ["CLibrary"]),
        .target(name: "CCurl", dependencies: ["CLibrary"]),
        .target(name: "CLibrary", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        // Without optimization each vector goes through memory.
        .target(name: "CScan", cSettings: [.unsafeFlags(["-O2"])]),
        .target(name: "CSQLite", dependencies: ["CLibrary"]),
        .target(name: "CSystem"),
        .target(name: "CZlib", dependencies: ["CLibrary"]),

        // The Swift client: it depends on none of the others, and packages that use it build nothing else.
        .target(name: "StorageRPC", path: "clients/swift/StorageRPC"),
        .target(name: "FirebaseStorage", dependencies: ["StorageRPC"], path: "clients/swift/FirebaseStorage"),

        // Linked into the tests alone. `TestSupport` is a test target, so that builds of the program leave it out.
        .target(
            name: "CTestProcess", path: "Tests/CTestProcess",
            // So that stacks have names.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic"], .when(platforms: [.linux]))]),
        .testTarget(
            name: "TestSupport",
            dependencies: [
                "CTestProcess",
                "Methods", "EmbeddedEngine", "RemoteEngines", "TaskStore", "Roots", "Transfers", "Storage", "Database",
                "JSONRPC", "JSONText", "HTTPClient", "HTTPText", "Platform", "Checksums", "CChecksums", "Resources",
                "CSystem",
            ],
            path: "Tests/TestSupport"),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "storage-rpc", "Methods", "HTTPClient", "HTTPText", "Platform", "Roots", "Database", "JSONText",
                "Secrets", "CChecksums", "TestSupport",
            ],
            exclude: ["agents.py", "page.py", "sdks.py"]),
        .testTarget(name: "StorageRPCTests", dependencies: ["StorageRPC", "storage-rpc", "TestSupport"]),
        .testTarget(
            name: "ContractTests",
            dependencies: ["Methods", "Harness", "Storage", "JSONRPC", "JSONText", "Resources", "TestSupport"]),

        .testTarget(name: "CommandLineTests", dependencies: ["CommandLine", "Platform", "TestSupport"]),
        .testTarget(
            name: "ModelContextTests",
            dependencies: ["ModelContext", "Storage", "JSONText", "Platform", "TestSupport"]),
        .testTarget(
            name: "TracingTests",
            dependencies: ["Tracing", "JSONRPC", "JSONText", "Secrets", "Platform", "TestSupport"]),

        .testTarget(
            name: "MethodsTests",
            dependencies: ["Methods", "Transfers", "Storage", "JSONRPC", "JSONText", "Platform", "TestSupport"]),

        .testTarget(
            name: "HarnessTests",
            dependencies: ["Harness", "EmbeddedEngine", "Roots", "Transfers", "Storage", "Platform", "TestSupport"]),
        .testTarget(
            name: "GatewayTests",
            dependencies: ["Gateway", "HTTPServer", "HTTPText", "JSONText", "Storage", "Platform", "TestSupport"]),

        .testTarget(
            name: "EmbeddedEngineTests",
            dependencies: [
                "EmbeddedEngine", "TaskStore", "Roots", "Storage", "Database", "HTTPClient", "HTTPText", "Checksums",
                "ClientMemory", "Platform", "TestSupport",
            ]),
        .testTarget(
            name: "RemoteEnginesTests",
            dependencies: [
                "EmbeddedEngine", "RemoteEngines", "LocalFiles", "Transfers", "Storage", "HTTPClient", "HTTPText",
                "JSONText", "Checksums", "Platform", "TestSupport",
            ]),
        .testTarget(
            name: "CredentialsTests",
            dependencies: [
                "Credentials", "CCrypto", "Storage", "HTTPClient", "HTTPText", "JSONText", "Checksums", "Platform",
                "TestSupport",
            ]),
        .testTarget(
            name: "TaskStoreTests",
            dependencies: [
                "EmbeddedEngine", "TaskStore", "Roots", "LocalFiles", "Storage", "Database", "Platform", "TestSupport",
            ]),
        .testTarget(
            name: "LocalFilesTests",
            dependencies: [
                "EmbeddedEngine", "RemoteEngines", "Roots", "LocalFiles", "Storage", "HTTPClient", "Checksums",
                "Platform", "TestSupport",
            ]),
        .testTarget(
            name: "EngineTests",
            dependencies: [
                "EmbeddedEngine", "RemoteEngines", "Roots", "LocalFiles", "Transfers", "Storage", "Database",
                "HTTPClient", "HTTPText", "Checksums", "ClientMemory", "Platform", "TestSupport",
            ],
            path: "Tests/Engines/EngineTests"),

        .testTarget(
            name: "TransfersTests", dependencies: ["Transfers", "Storage", "Checksums", "Platform", "TestSupport"]),
        .testTarget(name: "StorageTests", dependencies: ["Storage", "Resources", "TestSupport"]),

        .testTarget(
            name: "JSONRPCTests",
            dependencies: ["JSONRPC", "JSONText", "Metrics", "ClientMemory", "Platform", "TestSupport"]),
        .testTarget(name: "JSONTextTests", dependencies: ["JSONText", "TestSupport"]),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "HTTPServer", "HTTPText", "CChecksums", "ClientMemory", "Platform", "CSystem", "TestSupport",
            ]),
        .testTarget(name: "HTTPClientTests", dependencies: ["HTTPClient", "HTTPText", "Platform", "TestSupport"]),
        .testTarget(name: "HTTPTextTests", dependencies: ["HTTPText", "TestSupport"]),
        .testTarget(name: "SecretsTests", dependencies: ["Secrets", "TestSupport"]),

        .testTarget(name: "PlatformTests", dependencies: ["Platform", "TestSupport"]),
        .testTarget(name: "DatabaseTests", dependencies: ["Database", "CChecksums", "TestSupport"]),
        .testTarget(name: "MetricsTests", dependencies: ["Metrics", "Platform", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c2x
)

for (wing, rooms) in wings {
    for room in rooms {
        package.targets.first { $0.name == room }?.path = "Sources/\(wing)/\(room)"
        package.targets.first { $0.name == room + "Tests" }?.path = "Tests/\(wing)/\(room)Tests"
    }
}

// Built by Tests/Sanitizers/run alone, for it needs a sanitizer. The variable is the path of libFuzzer.
if let fuzzer = Context.environment["STORAGE_RPC_FUZZ"] {
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "Methods", "EmbeddedEngine", "RemoteEngines", "TaskStore", "Roots", "LocalFiles", "Transfers",
                "Credentials", "Storage", "HTTPClient", "HTTPServer", "Gateway", "Harness", "JSONRPC", "JSONText",
                "Secrets", "Database", "Checksums", "ClientMemory", "HTTPText", "Platform", "CCrypto",
            ],
            path: "Tests/Fuzz", exclude: ["Corpus", "run", "words.dict"],
            linkerSettings: [.unsafeFlags(["-Xlinker", fuzzer, "-Xlinker", "-l:libstdc++.so.6"])]))
}

// Some of the targets with what they need: Tests/Sanitizers/run builds no more.
if let names = Context.environment["STORAGE_RPC_TARGETS"] {
    var (needed, waiting) = (Set<String>(), names.split(separator: " ").map(String.init))
    while let name = waiting.popLast() {
        guard needed.insert(name).inserted else { continue }
        for case .byNameItem(let dependency, _) in package.targets.first(where: { $0.name == name })?.dependencies ?? []
        {
            waiting.append(dependency)
        }
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { !needed.contains($0.name) }
}

let cTargets: Set = [
    "CCrypto", "CCurl", "CChecksums", "CLibrary", "CScan", "CSQLite", "CSystem", "CZlib", "Resources", "CTestProcess",
]
// Packages that use a target with unsafe flags cannot be built.
let clients: Set = ["StorageRPC", "FirebaseStorage"]
// The rooms whose generic types other rooms use for each request. Without specialization, these types are copied through
// their metadata. Of other functions, only the shortest are compiled into other rooms: the 20 instructions that the
// compiler allows cost an eighth of the build, and save 1 % of a request.
let specialized: Set = ["Platform", "Storage", "Database", "JSONText", "JSONRPC", "Transfers"]
// The rooms that wait for people or for the network, whose code is made small.
let small: Set = ["Gateway", "RemoteEngines", "storage-rpc"]
// The small rooms off the path of everyday requests. The compiler reads no bodies of other modules for them, specializes
// no generics and inlines nothing: half of its time.
let closed: Set = ["CommandLine", "ModelContext", "Tracing", "Harness", "Credentials", "HTTPClient", "Secrets"]
for target in package.targets where !cTargets.contains(target.name) {
    // Exclusive access is checked at run time by debug builds alone, and so by all tests. The program is linked without
    // debug information and needs no frame pointers. Flags of the driver come before those of the package manager, which
    // win (`-g`, `-fno-omit-frame-pointer`): these are passed on to the compiler itself.
    let released =
        ["-enforce-exclusivity=unchecked", "-Xfrontend", "-gnone", "-Xcc", "-Xclang", "-Xcc", "-mframe-pointer=none"]
        + (specialized.contains(target.name)
            ? ["-cross-module-optimization", "-Xllvm", "-cmo-function-size-limit=4"] : [])
        + (small.union(closed).contains(target.name) ? ["-Osize"] : [])
        + (closed.contains(target.name)
            ? [
                "performance-linker", "generic-specializer", "closure-specialize", "early-inline", "inline",
                "late-inline",
            ].flatMap { ["-Xllvm", "-sil-disable-pass=\($0)"] }
            : [])
    // `TextSearch` says why. A use of the two libraries is an error of the linker.
    let always =
        target.type == .test || target.name == "Fuzz"
        ? []
        : [
            "-disable-implicit-string-processing-module-import", "-disable-autolink-library", "swift_StringProcessing",
            "-disable-autolink-library", "swift_RegexParser",
        ].flatMap { ["-Xfrontend", $0] }
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .treatAllWarnings(as: .error),
    ]
    guard !clients.contains(target.name) else { continue }
    target.swiftSettings? += [
        .unsafeFlags(always + released, .when(configuration: .release)),
        .unsafeFlags(always, .when(configuration: .debug)),
    ]
}
