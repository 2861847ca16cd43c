import Journal
import Rollout

@testable import StoreSQLite

/// What must hold when everything has been healed and has settled.
struct Invariants {
    let ledger: Ledger
    let backends: [PlayedBackend]

    func check(_ store: SQLiteStore) throws(JournalError) {
        let rows = try allRows(store)
        for row in rows.values.sorted(by: { $0.sequence < $1.sequence }) { check(row) }
        checkKeys(rows)
        for write in ledger.writes { check(write, rows) }
        for backend in backends { checkOrder(backend) }
    }

    private func allRows(_ store: SQLiteStore) throws(JournalError) -> [Sequence64: JournalRow] {
        var rows: [Sequence64: JournalRow] = [:]
        var cursor: Sequence64?
        while true {
            let page = try store.rows(parkedOnly: false, before: cursor, limit: 500)
            guard let last = page.last else { return rows }
            for row in page { rows[row.sequence] = row }
            cursor = last.sequence
        }
    }

    /// A row has come to a legal end.
    private func check(_ row: JournalRow) {
        let states = Side.allCases.map { row.legs[$0].state }
        for state in states { ledger.tally.count("leg \(state.rawValue)") }
        if states.contains(where: \.isOutstanding) {
            ledger.violated("change \(row.sequence) is still outstanding: \(states)")
        }
        if states.contains(.superseded), row.revision == nil {
            ledger.violated("change \(row.sequence) is superseded without a revision")
        }
        if states.contains(.refused), states.contains(.applied) || states.contains(.superseded) {
            ledger.violated("change \(row.sequence) was refused by one side and taken by the other: \(states)")
        }
    }

    /// A key stands for one change that was carried out.
    private func checkKeys(_ rows: [Sequence64: JournalRow]) {
        for write in ledger.writes where write.key != nil {
            let done = write.sequences.filter { sequence in
                rows[sequence].map { row in Side.allCases.contains { row.legs[$0].state == .applied } } ?? false
            }
            if done.count > 1 { ledger.violated("write \(write.token): its key was carried out as changes \(done)") }
        }
    }

    private func check(_ write: PlayedWrite, _ rows: [Sequence64: JournalRow]) {
        let times = backends.map { backend in
            backend.applied[write.record, default: []].filter { $0 == write.token }.count
        }
        for (backend, count) in zip(backends, times) where count > 1 {
            ledger.violated("write \(write.token) was applied \(count) times by \(backend.side.name)")
        }
        if write.acknowledged != nil {
            for (backend, count) in zip(backends, times) where count == 0 {
                checkMissing(write, backend, rows)
            }
        }
        if let side = write.refusedBy, write.acknowledged == nil, times[side == .legacy ? 1 : 0] > 0 {
            checkRefused(write, by: side, write.sequences.compactMap { rows[$0] })
        }
        if times.contains(where: { $0 > 0 }), write.sequences.isEmpty {
            ledger.violated("write \(write.token) is on a backend and in no journal")
        }
    }

    /// A write that one side refused is on the other side. It may be there where that side was asked first by an attempt that
    /// came to no answer: an earlier one, or new before a fallback.
    private func checkRefused(_ write: PlayedWrite, by side: Side, _ rows: [JournalRow]) {
        if rows.contains(where: { $0.side == side.other }) { return }
        // A crash before the refusal was durable: sent again, a DELETE of what is absent counts as done, and is done there too.
        if write.method == "DELETE", rows.contains(where: { $0.legs[side].state == .applied }) { return }
        ledger.violated("write \(write.token) was refused by \(side.name) and is on the other side")
    }

    /// An acknowledged write may be missing where it is listed as parked, or where something newer is.
    private func checkMissing(_ write: PlayedWrite, _ backend: PlayedBackend, _ rows: [Sequence64: JournalRow]) {
        let all = write.sequences.compactMap { rows[$0]?.legs }
        let states = all.map { $0[backend.side].state }
        // Parked on the other side: after a crash in the wrong moment this side was asked again and refused, and only an
        // operator can tell.
        let isParked = all.contains { $0.legacy.state == .parked || $0.new.state == .parked }
        if ledger.poisoned.contains(write.record), isParked { return }
        if states.contains(.superseded) { return }
        ledger.violated(
            "write \(write.token) to \(write.record) was acknowledged and is not on \(backend.side.name): \(states)")
    }

    /// Every record was written in the order of acceptance.
    private func checkOrder(_ backend: PlayedBackend) {
        for (record, tokens) in backend.applied.sorted(by: { $0.key < $1.key }) {
            let places = tokens.map { ledger.write($0)?.sequences.first ?? 0 }
            if zip(places, places.dropFirst()).contains(where: { $0 >= $1 }) {
                ledger.violated("\(backend.side.name) got \(record) in the order of places \(places), writes \(tokens)")
            }
        }
    }
}
