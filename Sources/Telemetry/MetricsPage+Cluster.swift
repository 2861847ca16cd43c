/// How a gateway stands with the others of a shared store; the defaults are those of one whose store is its own.
package struct ClusterGauges: Sendable {
    package var members: UInt64
    package var isConnected: Bool
    package var mayDeliver: Bool
    package var takenOver: UInt64
    package var fenced: UInt64
    package var announcements: UInt64
    package var lateAnnouncements: UInt64
    package var watched: UInt64
    /// When the store last answered, in seconds since 1970; 0 where it is not shared.
    package var lastContactSeconds: Double

    package init(
        members: UInt64 = 1, isConnected: Bool = true, mayDeliver: Bool = true, takenOver: UInt64 = 0,
        fenced: UInt64 = 0, announcements: UInt64 = 0, lateAnnouncements: UInt64 = 0, watched: UInt64 = 0,
        lastContactSeconds: Double = 0
    ) {
        self.members = members
        self.isConnected = isConnected
        self.mayDeliver = mayDeliver
        self.takenOver = takenOver
        self.fenced = fenced
        self.announcements = announcements
        self.lateAnnouncements = lateAnnouncements
        self.watched = watched
        self.lastContactSeconds = lastContactSeconds
    }
}

extension PrometheusText {
    /// The shared store and its gateways.
    mutating func cluster(_ gauges: ClusterGauges) {
        begin("cutover_store_members", .gauge, "Gateways with a lease of the store, this one included; as last seen.")
        sample([], gauges.members)
        begin(
            "cutover_store_connected", .gauge, "0 while the shared store does not answer: writes are refused with 503.")
        sample([], gauges.isConnected ? 1 as UInt64 : 0)
        begin(
            "cutover_store_last_contact_timestamp_seconds", .gauge,
            "When the shared store last answered, since unix epoch in seconds; 0 where the store is not shared.")
        sample([], gauges.lastContactSeconds)
        begin("cutover_store_lease_held", .gauge, "0 while this gateway has no lease and may not deliver.")
        sample([], gauges.mayDeliver ? 1 as UInt64 : 0)
        begin("cutover_store_taken_over_total", .counter, "Changes taken over from gateways that were gone.")
        sample([], gauges.takenOver)
        begin("cutover_store_fenced_total", .counter, "Times that another gateway took this one's place.")
        sample([], gauges.fenced)
        begin(
            "cutover_store_announcements_total", .counter,
            "Times that the other gateways were told of outstanding legs before a client was answered, by outcome.")
        sample([("result", "ok")], gauges.announcements - min(gauges.announcements, gauges.lateAnnouncements))
        sample([("result", "late")], gauges.lateAnnouncements)
        begin(
            "cutover_store_watched", .gauge, "Changes of other gateways that hold up lanes of this one.")
        sample([], gauges.watched)
    }
}
