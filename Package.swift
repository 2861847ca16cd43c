// swift-tools-version: 6.2
import PackageDescription

// The floor plan. Imports point down; Tests/HouseTests holds this table against the `import` lines.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func floor(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func ground(_ name: String, libraries: [String] = []) -> Target {
    .target(name: name, linkerSettings: libraries.map { .linkedLibrary($0) })
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "cutover",
    products: [
        .executable(name: "cutover", targets: ["cutover"]),
        .executable(name: "cutover-sync", targets: ["cutover-sync"]),
    ],
    targets: [
        // Edge
        .executableTarget(name: "cutover", dependencies: ["CutoverCLI"], swiftSettings: strict),
        .executableTarget(name: "cutover-sync", dependencies: ["SyncService"], swiftSettings: strict),
        floor(
            "CutoverCLI",
            [
                "Demo", "ControlPlane", "Gateway", "Configuration", "StoreMigration", "StoreSQLite", "JournalThreads",
                "ContentCoding", "Comparison",
                "Rollout",
                "Routing", "Journal", "Telemetry", "HTTPClient", "Values", "CLinux",
            ]),
        floor(
            "Demo",
            [
                "ControlPlane", "Gateway", "Configuration", "Rollout", "Routing", "Comparison", "Values", "CSQLite",
                "CCurl", "CLinux",
            ]),
        // Control plane
        floor(
            "ControlPlane",
            [
                "Gateway", "Configuration", "StoreSQLite", "StorePostgres", "JournalThreads", "ContentCoding",
                "HTTPClient",
                "Comparison", "Journal",
                "Rollout", "Routing", "Telemetry", "Values", "CPage", "CLinux",
            ]),
        floor(
            "SyncService",
            [
                "Gateway", "Configuration", "SyncStore", "StorePostgres", "SyncModel", "HTTPClient", "JournalThreads",
                "Journal",
                "Comparison",
                "Routing", "HTTPWire", "Values", "COpenSSL", "CLinux",
            ]),
        // Data plane
        floor(
            "Gateway",
            [
                "Configuration", "ContentCoding", "Comparison", "HTTPWire", "Journal", "Rollout", "Routing",
                "Telemetry", "Values",
                "COpenSSL", "CNGHTTP2", "CLinux",
            ]),
        floor("Configuration", ["Rollout", "Routing", "Comparison", "CYAML"]),
        // Stores and codings
        floor("StoreSQLite", ["JournalThreads", "Journal", "Rollout", "CSQLite", "CLinux"]),
        floor("StorePostgres", ["JournalThreads", "Journal", "Rollout", "CPostgres"]),
        floor("SyncStore", ["StoreSQLite", "StorePostgres", "JournalThreads", "Journal", "SyncModel", "Comparison"]),
        floor("StoreMigration", ["StoreSQLite", "StorePostgres", "JournalThreads", "Journal"]),
        floor("JournalThreads", ["Journal", "Rollout"]),
        floor("ContentCoding", ["CCompress"]),
        floor("HTTPClient", ["CCurl"]),
        // Pure floors: the standard library only
        floor("Values"),
        floor("SyncModel", ["Comparison", "Values"]),
        floor("HTTPWire"),
        floor("Routing"),
        floor("Rollout"),
        floor("Comparison", ["CJSONTokens"]),
        floor("Journal", ["Rollout"]),
        floor("Telemetry", ["Rollout"]),
        // Ground: module maps and shims
        ground("CLinux"),
        ground("CJSONTokens"),
        ground("CSQLite", libraries: ["sqlite3"]),
        ground("CPostgres", libraries: ["pq"]),
        ground("CYAML", libraries: ["yaml"]),
        ground("CCompress", libraries: ["z", "brotlidec"]),
        ground("CCurl", libraries: ["curl"]),
        ground("CNGHTTP2", libraries: ["nghttp2"]),
        ground("COpenSSL", libraries: ["ssl", "crypto"]),
        // The operators' page: its files become bytes of the binary.
        .target(name: "CPage", exclude: ["web"]),
        // What Benchmarks/hash.py measures; part of no product that is installed.
        .executableTarget(
            name: "HashBenchmark", dependencies: ["Comparison"], path: "Benchmarks/hash", exclude: ["simdjson.cc"],
            swiftSettings: strict),
        // Tests
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
        // A PostgreSQL server of the tests' own, for every store that has one.
        .target(
            name: "PostgresTestServer", dependencies: ["StorePostgres", "Journal"], path: "Tests/PostgresTestServer",
            swiftSettings: strict),
        // What every store of the journal has to do alike, run by the tests of each.
        .target(
            name: "JournalRules", dependencies: ["Journal", "JournalThreads", "Rollout", "TestSupport"],
            path: "Tests/JournalRules",
            swiftSettings: strict),
        tests("ValuesTests", ["Values", "TestSupport"]),
        tests(
            "SyncStoreTests",
            [
                "SyncStore", "StorePostgres", "SyncModel", "JournalThreads", "Journal", "Comparison", "TestSupport",
                "PostgresTestServer", "CSQLite",
            ]),
        tests("SyncModelTests", ["SyncModel", "Comparison", "Values", "TestSupport"]),
        tests("HTTPWireTests", ["HTTPWire"]),
        tests("RoutingTests", ["Routing"]),
        .testTarget(
            name: "RolloutTests", dependencies: ["Rollout", "TestSupport"], exclude: ["Vectors"], swiftSettings: strict),
        tests("ComparisonTests", ["Comparison", "CJSONTokens", "TestSupport"]),
        tests("JournalTests", ["Journal", "Rollout", "TestSupport"]),
        tests("TelemetryTests", ["Telemetry", "Rollout", "TestSupport"]),
        tests(
            "StoreSQLiteTests",
            ["StoreSQLite", "JournalRules", "JournalThreads", "Journal", "Rollout", "CSQLite", "TestSupport"]),
        tests(
            "StorePostgresTests",
            [
                "StorePostgres", "StoreMigration", "StoreSQLite", "JournalRules", "JournalThreads", "Journal",
                "Rollout",
                "CPostgres", "CSQLite", "TestSupport", "PostgresTestServer",
            ]),
        tests("ContentCodingTests", ["ContentCoding"]),
        tests("ConfigurationTests", ["Configuration", "Rollout", "Routing", "Comparison", "TestSupport"]),
        tests(
            "GatewayTests",
            [
                "Gateway", "Configuration", "Comparison", "HTTPWire", "Journal", "Rollout", "Routing", "Telemetry",
                "COpenSSL", "CLinux", "TestSupport",
            ]),
        tests(
            "ControlPlaneTests",
            [
                "ControlPlane", "Gateway", "Configuration", "StoreSQLite", "JournalThreads", "HTTPClient", "Journal",
                "Rollout", "Routing", "Telemetry", "Values", "CLinux", "TestSupport",
            ]),
        .target(name: "CPlayedDisk", dependencies: ["CSQLite"], path: "Tests/CPlayedDisk"),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "Gateway", "StoreSQLite", "JournalThreads", "Configuration", "Journal", "Rollout", "Routing",
                "Telemetry",
                "CPlayedDisk", "CLinux", "TestSupport",
            ],
            // Optimised even in debug builds: the players are most of the work, and thousands of seeds are run.
            exclude: ["seeds.txt"], swiftSettings: strict + [.unsafeFlags(["-O"])]),
        tests("CutoverCLITests", ["CutoverCLI", "ControlPlane", "HTTPClient", "Values"]),
        tests("DemoTests", ["Demo"]),
        tests("HouseTests", []),
    ],
    cLanguageStandard: .c11
)

// Fuzzing (scripts/fuzz): a program of its own, which only a build that asks for it knows.
if Context.environment["CUTOVER_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "ControlPlane", "Gateway", "Configuration", "StoreSQLite", "JournalThreads", "ContentCoding",
                "Comparison", "Journal", "HTTPWire", "Rollout", "Routing", "Telemetry", "Values", "CSQLite", "CNGHTTP2",
                "COpenSSL", "CLinux", "TestSupport",
            ],
            path: "Tests/Fuzz", exclude: ["Corpora", "Dictionaries"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]))
}
