import CPlayedDisk

/// A disk in memory that loses, keeps or tears at a crash what was not synced.
final class PlayedDisk {
    private let disk: OpaquePointer
    /// The name that SQLite knows it by.
    let name: String

    /// - Parameter name: of no other disk of the process.
    init(name: String, seed: UInt64) {
        self.name = name
        disk = played_disk_create(name, seed)
    }

    deinit { played_disk_destroy(disk) }

    /// The power fails; what was open gives errors from now on.
    func crash() { played_disk_crash(disk) }
    /// The power fails in the middle of a later write or sync.
    func failPower(afterCalls calls: Int) { played_disk_fail_after(disk, Int32(calls)) }
    /// The power has failed that way.
    var isDead: Bool { played_disk_is_dead(disk) != 0 }
    /// Room for all files, in bytes; nil for as much as they want.
    func limit(toBytes bytes: Int64?) { played_disk_limit(disk, bytes ?? 0) }
    /// The next writes and syncs are errors.
    func failCalls(_ calls: Int) { played_disk_fail(disk, Int32(calls)) }
    /// Syncs do nothing: the safeguard that a mutation takes away.
    func ignoreSyncs() { played_disk_ignore_syncs(disk, 1) }
    var size: Int64 { played_disk_size(disk) }
    var syncs: UInt64 { played_disk_syncs(disk) }
}
