import TestSupport
import Testing

@testable import Configuration

@Suite struct MutationTests {
    private static let fragments = [
        "{", "}", "[", "]", ":", ": ", ",", "\n", "\t", "  ", "- ", "\"", "'", "#", "&a ", "*a", "!!str ", "|\n",
        "---\n", "\0",
        "%", "~", "-1", "1e9", "99999999999999999999", "é", "@", "://", "http://u:hunter2@h", "?", "null", "yes", "/**",
        "{x}",
    ]

    private func mutate(_ text: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var text = text
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let at = Int.random(in: 0...text.count, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: text.insert(UInt8.random(in: 0...255, using: &generator), at: at)
            case 1: text.removeSubrange(at..<min(text.count, at + Int.random(in: 0...20, using: &generator)))
            case 2:
                text.insert(contentsOf: Self.fragments.randomElement(using: &generator)?.utf8.map { $0 } ?? [], at: at)
            case 3: text = Array(text[..<at])
            default:
                let from = Int.random(in: 0...text.count, using: &generator)
                text.insert(contentsOf: text[from..<min(text.count, from + 30)], at: at)
            }
        }
        return text
    }

    @Test(arguments: [contractExample, contractPlan])
    func damagedFilesGetErrorsAndNeverACrash(_ original: String) {
        let seed = UInt64.random(in: 0 ... .max)
        print("MutationTests seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for round in 0..<400 {
            let text = mutate(Array(original.utf8), &generator)
            let isPlan = original == contractPlan
            let contents: [String: [UInt8]] = [
                "secret.key": [1], "rollout/staged.yaml": isPlan ? text : Array(contractPlan.utf8),
            ]
            let files = ConfigurationFiles { path, _ in
                contents[path].map { .success($0) } ?? .failure(.init(reason: "No such file or directory"))
            }
            let loading = Loading(file: "cutover.yaml", flags: ConfigurationFlags(), files: files)
            let outcome = loading.run(text: isPlan ? Array(contractExample.utf8) : text)
            guard case .errors(let errors) = outcome else { continue }
            #expect(!errors.isEmpty, "seed \(seed), round \(round)")
            for error in errors {
                let message = error.description
                #expect(!message.contains("\n") && !message.contains("hunter2@"), "seed \(seed), round \(round)")
                #expect((error.line ?? 1) >= 1 && (error.line ?? 1) <= 2000, "seed \(seed), round \(round)")
            }
        }
    }
}
