/// What several metrics blocks held together at one moment: plain numbers, for one thread.
///
/// The blocks are read while their loops go on counting, so two cells of one event may differ by what is under way.
package struct MetricsSnapshot: Sendable {
    /// The cells, as `Cells` maps them.
    package private(set) var cells: [UInt64]

    /// Nothing counted yet.
    package init() { cells = [UInt64](repeating: 0, count: Cells.count) }

    /// The sum of several blocks.
    package init(of blocks: [LoopMetrics]) {
        self.init()
        for block in blocks { add(block) }
    }

    /// Adds another block.
    package mutating func add(_ block: LoopMetrics) {
        cells.withUnsafeMutableBufferPointer { sums in
            for cell in sums.indices { sums[cell] &+= block.value(cell) }
        }
    }

    /// What was counted since `earlier`, which must be an earlier reading of the same blocks. Gauges keep the value
    /// that they have here.
    package func subtracting(_ earlier: MetricsSnapshot) -> MetricsSnapshot {
        var result = self
        for cell in cells.indices where !(Cells.gauges..<Cells.gaugesEnd).contains(cell) {
            result.cells[cell] = cells[cell] >= earlier.cells[cell] ? cells[cell] - earlier.cells[cell] : 0
        }
        return result
    }

    /// A counter of `Cells`.
    package func counter(_ cell: Int) -> UInt64 { cells[cell] }

    /// A gauge of `Cells`. A sum below zero (one loop took down what another put up, and was read first) is 0.
    package func gauge(_ cell: Int) -> UInt64 { UInt64(max(0, Int64(bitPattern: cells[cell]))) }

    /// A histogram of `Cells`.
    package func histogram(_ histogram: Int) -> Histogram {
        let base = Cells.histograms + histogram * Cells.histogramStride
        return Histogram(
            counts: Array(cells[base..<(base + HistogramLayout.count)]),
            sumNanoseconds: cells[base + Cells.histogramSum])
    }
}

extension MetricsSnapshot {
    /// Reads sent to a backend as the serving side.
    package func reads(_ backend: Backend, failed: Bool) -> UInt64 {
        counter(Cells.reads + backend.index * 2 + (failed ? 1 : 0))
    }

    /// What clients finally saw of the reads or writes that were meant for a side; part: a 5xx or an answer that broke off.
    package func clientAnswers(_ kind: ClientKind, meantFor side: Backend) -> Proportion {
        let cell = Cells.clientAnswers + (kind.index * 2 + side.index) * 2
        return Proportion(counter(cell + 1), of: counter(cell) &+ counter(cell + 1))
    }

    /// Attempts of write legs.
    package func writes(_ backend: Backend, leg: WriteLeg, result: WriteResult) -> UInt64 {
        counter(Cells.writes + (backend.index * 2 + leg.index) * 3 + result.index)
    }

    /// Conflicts by who noticed them.
    package func conflicts(_ source: ConflictSource) -> UInt64 { counter(Cells.conflicts + source.index) }

    /// Writes received, and those among them with at least one conflict.
    package var writesReceived: UInt64 { counter(Cells.writesReceived) }
    package var conflictedWrites: UInt64 { counter(Cells.conflictedWrites) }

    /// Fallbacks of one kind and reason.
    package func fallbacks(_ kind: ClientKind, reason: FallbackReason) -> UInt64 {
        counter(Cells.fallbacks + kind.index * Cells.fallbackReasons + reason.index)
    }

    /// All fallbacks.
    package var fallbacks: UInt64 {
        cells[Cells.fallbacks..<(Cells.fallbacks + 2 * Cells.fallbackReasons)].reduce(0, &+)
    }

    /// Requests of users on new.
    package var requestsOfNewUsers: UInt64 { counter(Cells.requestsOfNewUsers) }

    /// Those among them that went to legacy by design, because new lacks writes of their user.
    package var requestsWhileBehind: UInt64 { counter(Cells.requestsWhileBehind) }

    /// Shadow reads that new failed or did not answer, and those that it was not asked for while its breaker was open.
    package var shadowFailures: UInt64 { counter(Cells.shadowFailures) }
    package var shadowKeptAway: UInt64 { counter(Cells.shadowKeptAway) }

    /// Shadow reads by result.
    package func shadow(_ result: ShadowResult) -> UInt64 { counter(Cells.shadow + result.index) }

    /// Shadow reads that were compared: matched + mismatched + transient (contract §7).
    package var compared: UInt64 { shadow(.match) &+ shadow(.mismatch) &+ shadow(.transient) }

    /// Requests by kind and code; a code outside 100…599 reads the slot of all such.
    package func requests(_ kind: RequestKind, status: Int) -> UInt64 {
        let slot = status >= 100 && status <= 599 ? status - 99 : 0
        return counter(Cells.codes + kind.index * Cells.codesPerKind + slot)
    }

    /// Limits reached.
    package func limitHits(_ limit: Limit) -> UInt64 { counter(Cells.limits + limit.index) }

    /// Upstream connections in a state.
    package func upstreamConnections(_ backend: Backend, _ state: ConnectionState) -> UInt64 {
        gauge(Cells.upstreamConnections + backend.index * 3 + state.index)
    }
}
