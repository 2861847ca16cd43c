/// The floor plan of ARCHITECTURE.md as a table. A target may import what lies below it, and nothing else.
enum FloorPlan {
    /// What a floor is for, from the ground up.
    enum Floor: Int, Comparable {
        case ground, pure, stores, data, control, story, edge, executable

        static func < (left: Floor, right: Floor) -> Bool { left.rawValue < right.rawValue }
    }

    /// Every target, from the ground up.
    static let floors: [String: Floor] = [
        "CLinux": .ground, "CSQLite": .ground, "CPostgres": .ground, "CYAML": .ground, "CCompress": .ground,
        "CCurl": .ground,
        "COpenSSL": .ground, "CNGHTTP2": .ground, "CPage": .ground, "CJSONTokens": .ground,
        "HTTPWire": .pure, "Routing": .pure, "Rollout": .pure, "Comparison": .pure, "Journal": .pure,
        "Telemetry": .pure, "Values": .pure,
        "SyncModel": .pure,
        "Configuration": .stores, "JournalThreads": .stores, "StoreSQLite": .stores, "StorePostgres": .stores,
        "StoreMigration": .stores, "SyncStore": .stores, "ContentCoding": .stores, "HTTPClient": .stores,
        "Gateway": .data,
        "ControlPlane": .control, "SyncService": .control,
        "Demo": .story,
        "CutoverCLI": .edge,
        "cutover": .executable, "cutover-sync": .executable,
    ]

    /// The imports between neighbours on one floor that are wanted.
    static let sideways: [String: Set<String>] = [
        "Journal": ["Rollout"], "Telemetry": ["Rollout"],
        "SyncModel": ["Comparison", "Values"],
        // Not for input or output: what Swift cannot write, instructions over many bytes at a time.
        "Comparison": ["CJSONTokens"],
        "StoreSQLite": ["JournalThreads"], "StorePostgres": ["JournalThreads"],
        "SyncStore": ["JournalThreads", "StoreSQLite", "StorePostgres"],
        "StoreMigration": ["JournalThreads", "StoreSQLite", "StorePostgres"],
    ]

    /// The modules from outside the package that a target may import.
    static func outside(_ target: String) -> Set<String> {
        switch floors[target] {
        case .ground, nil: []
        case .pure: target == "Telemetry" ? ["Synchronization"] : []
        case .data: ["Glibc", "Synchronization"]
        case .stores:
            target == "Configuration"
                ? ["Glibc", "Synchronization", "FoundationEssentials"] : ["Glibc", "Synchronization"]
        case .control, .story, .edge: ["Glibc", "Synchronization", "Dispatch", "FoundationEssentials"]
        case .executable: ["Glibc"]
        }
    }

    /// Whether `target` may import `module`.
    static func allows(_ target: String, toImport module: String) -> Bool {
        guard let from = floors[target] else { return false }
        guard let to = floors[module] else { return outside(target).contains(module) }
        if sideways[target]?.contains(module) == true { return true }
        if from == .pure { return false }
        return to < from
    }
}
