package import Configuration
import Comparison
package import Journal
package import Rollout
import Routing

/// Everything that a request's decision depends on, as one immutable value that is swapped as a whole: each loop holds
/// its own reference and gets a new one through its inbox, so that no request ever sees half a change.
package final class Snapshot: Sendable {
    package let settings: Settings
    package let rollout: RolloutView
    let pins: PinTable
    let bucketing: Bucketing
    let shadowBucketing: Bucketing
    let routes: RouteTable
    let compiledRoutes: [CompiledRoute]
    let identity: IdentitySources
    let tracing: TracingRules
    /// Nil: no line is written for a request.
    let accessLog: AccessLogRules?

    package init(settings: Settings, rollout: RolloutView, pins: [String: Side], identity: IdentitySources) {
        self.settings = settings
        self.rollout = rollout
        self.pins = PinTable(pins)
        bucketing = Bucketing(algorithm: settings.user.algorithm, salt: settings.user.salt)
        shadowBucketing = Bucketing.shadow(salt: settings.user.salt)
        routes = RouteTable(settings.routes)
        compiledRoutes = settings.routes.map(CompiledRoute.init)
        self.identity = identity
        tracing = TracingRules(settings.tracing)
        accessLog = settings.accessLog.map { AccessLogRules($0, settings.user) }
    }
}

/// What the data plane needs to know of the rollout's state.
package struct RolloutView: Sendable, Equatable {
    package var percentHundredths: Int
    package var shadowHundredths: Int
    package var dualWrite: Bool
    package var generation: Int64
    /// Monotonic milliseconds of the last change that may have moved users back to legacy; 0 = never.
    package var movedBackAt: UInt64
    /// False: legacy lacks what is written, so nobody who is on new may be sent there for any reason.
    package var legacyWrites: Bool

    /// The sides that other gateways of the store may begin to read while writes of users who move are under way here: what is
    /// left outstanding to them is announced before the client knows (`JournalCluster.announce`).
    package var announces: SideSet

    package init(
        percentHundredths: Int, shadowHundredths: Int, dualWrite: Bool, generation: Int64, movedBackAt: UInt64,
        announces: SideSet = [], legacyWrites: Bool = true
    ) {
        self.percentHundredths = percentHundredths
        self.shadowHundredths = shadowHundredths
        self.dualWrite = dualWrite
        self.generation = generation
        self.movedBackAt = movedBackAt
        self.legacyWrites = legacyWrites
        self.announces = announces
    }
}

/// A route with its JSON pointers parsed.
struct CompiledRoute: Sendable {
    let route: Route
    let user: PointerPattern?
    let record: PointerPattern?
    let revision: PointerPattern?
    let idempotencyKey: PointerPattern?
    let items: PointerPattern?

    init(_ route: Route) {
        self.route = route
        user = route.user.flatMap { PointerPattern($0) }
        record = route.record.flatMap { PointerPattern($0) }
        revision = route.revision.flatMap { PointerPattern($0) }
        idempotencyKey = route.idempotencyKey.flatMap { PointerPattern($0) }
        items = route.items.flatMap { PointerPattern($0) }
    }

    /// Whether anything has to be looked up in the body.
    var readsBody: Bool { user != nil || record != nil || revision != nil || idempotencyKey != nil || items != nil }
}

/// Users that an operator has put on a side, looked up by bytes without building a `String`.
struct PinTable: Sendable {
    private struct Entry: Sendable {
        let user: [UInt8]
        let side: Side
    }
    private let buckets: [UInt64: [Entry]]
    let isEmpty: Bool

    init(_ pins: [String: Side]) {
        var buckets: [UInt64: [Entry]] = [:]
        for (user, side) in pins {
            let bytes = Array(user.utf8)
            let hash = bytes.withUnsafeBufferPointer { $0.baseAddress.map { userHash($0, bytes.count) } ?? 0 }
            buckets[hash, default: []].append(Entry(user: bytes, side: side))
        }
        self.buckets = buckets
        isEmpty = pins.isEmpty
    }

    func side(_ user: UnsafePointer<UInt8>, _ count: Int, hash: UInt64) -> Side? {
        guard !isEmpty, let entries = buckets[hash] else { return nil }
        for entry in entries
        where entry.user.count == count && entry.user.elementsEqual(UnsafeBufferPointer(start: user, count: count)) {
            return entry.side
        }
        return nil
    }
}

/// FNV-1a over the bytes of a user id: only to find things in tables, never to split by.
@inline(__always)
func userHash(_ p: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for i in 0..<count { hash = (hash ^ UInt64(p[i])) &* 0x100_0000_01b3 }
    return hash ^ (hash >> 29)
}
