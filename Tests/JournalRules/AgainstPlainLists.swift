package import Journal
import Rollout
import TestSupport
import Testing

/// Plays random groups against a store and against plain lists: it has to say what the rules say.
package enum AgainstPlainLists {
    private static func random(_ random: inout SeededGenerator) -> Submission {
        let body = "\(Int.random(in: 0..<3, using: &random))"
        var records: [(String, Int64?)] = [
            ("r\(Int.random(in: 0..<3, using: &random))", .random(in: 1...9, using: &random))
        ]
        switch Int.random(in: 0..<6, using: &random) {
        case 0: records = [("r0", .random(in: 1...9, using: &random)), ("r1", .random(in: 1...9, using: &random))]
        case 1: records[0].1 = nil
        default: break
        }
        let key = Bool.random(using: &random) ? "k\(Int.random(in: 0..<12, using: &random))" : nil
        let user = ["anna", "bert", nil][Int.random(in: 0..<3, using: &random)]
        return submission(
            user: user, records, key: key, body: body,
            target: ["/a", "/a", "/b"][Int.random(in: 0..<3, using: &random)])
    }

    /// - Parameter steps: groups to play.
    package static func play(seed: UInt64, steps: Int = 250, open: () throws -> any JournalStore) throws {
        var random = SeededGenerator(seed: seed)
        var plain = PlainJournal()
        var store: (any JournalStore)? = try open()
        for step in 0..<steps {
            var updates: [JournalUpdate] = []
            if let index = plain.open.randomElement(using: &random), Bool.random(using: &random) {
                let sequence = Sequence64(index + 1)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: (plain.changes[index].fate, updates) = (.refused(422), [.refused(sequence)])
                case 1: (plain.changes[index].fate, updates) = (.failed, [.failed(sequence)])
                default: (plain.changes[index].fate, updates) = (.accepted(201), [.accepted(sequence, new: .applied)])
                }
            }
            let group = (0..<Int.random(in: 0...3, using: &random)).map { _ in Self.random(&random) }
            let expected = group.map { plain.submit($0) }
            let said = try store?.commit(group, updates: updates, now: 1_000).admissions.map(\.summary)
            guard said == expected else {
                Issue.record("seed \(seed), step \(step): said \(said ?? []), not \(expected)")
                return
            }
            if Int.random(in: 0..<25, using: &random) == 0 {
                store = nil
                store = try open()
            }
        }
        let left = plain.open.map { Sequence64($0 + 1) }
        #expect(try store?.outstanding(after: 0, limit: 1_000).map(\.sequence) == left)
    }
}
