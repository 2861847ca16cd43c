internal import Comparison

/// Holds the two backends against each other, record by record, and both against what clients were told.
struct RecordComparison {
    private let legacy: SyncClient
    private let new: SyncClient
    private let hasher = ContentHasher()
    private let rules = ComparisonRules(ignore: [PointerPattern("/serverTime")].compactMap { $0 })
    private(set) var report = ComparisonReport(records: 0, tombstones: 0, different: 0, lost: 0)

    private static let exampleLimit = 5

    /// Reads the backends over HTTP, past the gateway.
    init(legacy: String, new: String) throws(DemoFailure) {
        self.legacy = try SyncClient(url: legacy)
        self.new = try SyncClient(url: new)
    }

    /// Compares all records of a user.
    mutating func compare(_ user: String, known: [KnownRecord]) throws(DemoFailure) {
        let left = try items(legacy, user)
        let right = try items(new, user)
        report.records += Set(left.keys).union(right.keys).count
        report.tombstones += left.values.count { $0.deleted }
        for (id, item) in left {
            guard let other = right[id] else {
                differ("\(user) \(id): only legacy has it")
                continue
            }
            if item.hash != other.hash {
                differ(
                    "\(user) \(id): revision \(item.revision) on legacy, \(other.revision) on new, not the same content"
                )
            }
        }
        for id in right.keys where left[id] == nil { differ("\(user) \(id): only new has it") }
        for record in known where !record.isUncertain {
            for (side, items) in [("legacy", left), ("new", right)]
            where items[record.id]?.revision ?? 0 < record.revision {
                report.lost += 1
                example("\(user) \(record.id): revision \(record.revision) was acknowledged, \(side) does not have it")
            }
        }
    }

    private struct Item {
        var revision: Int64
        var deleted: Bool
        var hash: ContentHash
    }

    private func items(_ client: SyncClient, _ user: String) throws(DemoFailure) -> [String: Item] {
        var found: [String: Item] = [:]
        var cursor = ""
        while true {
            let answer: Answer
            do throws(ExchangeFailure) { answer = try client.list(user, cursor: cursor) } catch {
                throw DemoFailure("the records of \(user) cannot be read: \(error.detail)")
            }
            let next = answer.withFields { fields -> String? in
                for item in fields.items("items") {
                    guard let id = item.fields.optionalText("recordId") else { continue }
                    found[id] = Item(
                        revision: item.fields.integer("revision") ?? 0, deleted: item.fields.isTrue("deleted"),
                        hash: hasher.hash(item.text, isJSON: true, rules: rules))
                }
                return fields.optionalText("next")
            }
            guard answer.status == 200 else {
                throw DemoFailure("the records of \(user) cannot be read: \(answer.status)")
            }
            guard let next else { return found }
            cursor = next
        }
    }

    private mutating func differ(_ text: String) {
        report.different += 1
        example(text)
    }

    private mutating func example(_ text: String) {
        if report.examples.count < RecordComparison.exampleLimit { report.examples.append(text) }
    }
}
