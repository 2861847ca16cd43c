import Comparison
@testable import SyncModel

/// A moment after all others of these tests.
let now: Int64 = 1_800_000_000_000

/// A change as a client would send it.
func change(
    _ record: String, _ revision: Int64, _ payload: String? = "{}", user: String = "u1", type: RecordType? = .document,
    key: String? = nil, device: String = "d1"
) -> SyncChange {
    let type = type.map { ",\"type\":\"\($0.rawValue)\"" } ?? ""
    let body = """
        {"id":"c","userId":"\(user)","recordId":"\(record)","deviceId":"\(device)","revision":\(revision)\(type),
        "idempotencyKey":"\(key ?? "\(record)-\(revision)")",\(payload.map { "\"payload\":\($0)" } ?? "\"deleted\":true")}
        """
    guard let read = try? ChangeReader().read(Array(body.utf8), key: nil) else { fatalError("no change: \(body)") }
    return read.changes[0]
}

extension SyncState {
    /// Decides one change alone.
    @discardableResult
    mutating func put(_ change: SyncChange, now: Int64 = now) -> ChangeVerdict {
        decide([change], now: now).verdicts[0]
    }
}
