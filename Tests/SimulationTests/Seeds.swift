import FoundationEssentials

/// Which seeds are run.
enum Seeds {
    /// How many seeds every run of the tests tries: about 80 seconds of processor time in a debug build, on two threads.
    static let everyTime: UInt64 = 2_000

    /// What the environment asks for (`CUTOVER_SIMULATE_SEEDS`: a count, `from..to`, or `n..n` for one), else the kept ones and
    /// the first `everyTime`.
    static let wanted: [UInt64] = {
        guard let text = ProcessInfo.processInfo.environment["CUTOVER_SIMULATE_SEEDS"], !text.isEmpty else {
            return kept + Array(1...everyTime)
        }
        guard let range = range(text) else {
            preconditionFailure("CUTOVER_SIMULATE_SEEDS: \(text) is neither a count nor from..to")
        }
        return Array(range)
    }()

    /// `from..to`, or a count from 1; nil for anything else.
    static func range(_ text: String) -> ClosedRange<UInt64>? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: true).map { UInt64($0) }
        switch (parts.count, text.contains("..")) {
        case (1, false):
            guard let count = parts[0], count > 0 else { return nil }
            return 1...count
        case (2, true):
            guard let from = parts[0], let to = parts[1], from <= to else { return nil }
            return from...to
        default: return nil
        }
    }

    /// Seeds that once failed: `seeds.txt` beside this file.
    static let kept: [UInt64] = {
        let file = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        guard let data = FileManager.default.contents(atPath: file + "/seeds.txt") else {
            preconditionFailure("there is no seeds.txt beside Seeds.swift")
        }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        return lines.compactMap { line in line.split(separator: " ").first.flatMap { UInt64($0) } }
    }()
}
