import Gateway
import Values

/// A small generator of numbers from a seed (SplitMix64), so that two runs tell the same story.
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The readers of the demo, with the notes and highlights that they have made before it begins.
enum SampleData {
    /// Ids of the users: `reader-001`, …
    static func users(_ count: Int) -> [String] {
        (1...count).map { number in
            let digits = String(number)
            return "reader-" + String(repeating: "0", count: max(0, 3 - digits.count)) + digits
        }
    }

    /// Three to six records of a user, each at a revision of 1 to 6.
    static func history(of user: String, _ random: inout SeededGenerator) -> [StoredRecord] {
        (1...Int.random(in: 3...6, using: &random)).map { number in
            let type = Change.types.randomElement(using: &random) ?? "note"
            let revision = Int64.random(in: 1...6, using: &random)
            return record("\(type)-\(number)", of: user, type: type, revision: revision, &random)
        }
    }

    /// A record as an earlier change left it.
    static func record(
        _ id: String, of user: String, type: String, revision: Int64, _ random: inout SeededGenerator
    ) -> StoredRecord {
        let payload = payload(type, &random)
        return StoredRecord(
            user: user, record: id, type: type, revision: revision, device: "phone", deleted: false, payload: payload,
            content: contentHash(of: payload), key: "history-\(user)-\(id)")
    }

    /// What a record of this type holds, as JSON text.
    static func payload(_ type: String, _ random: inout SeededGenerator) -> String {
        let page = Int.random(in: 1...480, using: &random)
        let line = lines.randomElement(using: &random) ?? ""
        switch type {
        case "document":
            return "{\"title\":\(jsonString(line)),\"pages\":\(page),\"shelf\":[\"reading\",\"owned\"]}"
        case "highlight":
            let from = Int.random(in: 0...4000, using: &random)
            return
                "{\"text\":\(jsonString(line)),\"colour\":\"yellow\",\"from\":\(from),\"to\":\(from + line.utf8.count)}"
        case "progress":
            let share = Int.random(in: 0...999, using: &random)
            let digits = String(share + 1000).dropFirst()
            return "{\"progress\":0.\(digits),\"page\":\(page)}"
        default:
            return "{\"text\":\(jsonString(line)),\"page\":\(page),\"tags\":[\"\(page % 7)\",\"demo\"]}"
        }
    }

    private static let lines = [
        "Call me Ishmael.", "It was a bright cold day in April, and the clocks were striking thirteen.",
        "All happy families are alike; each unhappy family is unhappy in its own way.",
        "Alle Menschen werden Brüder", "“Why?” – “Because it is there.”", "山重水复疑无路，柳暗花明又一村",
        "The sky above the port was the color of television, tuned to a dead channel.", "Tab\there, \\ and \"quotes\"",
    ]
}
