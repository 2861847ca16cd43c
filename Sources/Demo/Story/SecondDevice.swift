import Gateway
import Values

/// A user with two devices, of which one has not heard of the other's last write.
enum SecondDevice {
    static let user = "mara"
    private static let record = "note-1"

    /// What both backends know of the user when the story begins: a note at revision 6.
    static func history() -> StoredRecord {
        var random = SeededGenerator(seed: 6)
        return SampleData.record(record, of: user, type: "note", revision: 6, &random)
    }

    /// Plays it through the gateway: the phone writes 7 and 8, the tablet 7, refreshes and writes 9.
    static func play(_ client: SyncClient, run: String) throws(DemoFailure) -> SecondDeviceReport {
        do throws(ExchangeFailure) {
            for revision: Int64 in [7, 8] {
                let answer = try client.write(change(revision, device: "phone", text: "from the phone", run))
                guard answer.status == 200 else {
                    throw ExchangeFailure(detail: "revision \(revision) was answered \(answer.status) \(answer.text)")
                }
            }
            let refused = try client.write(change(7, device: "tablet", text: "from the tablet", run))
            let refreshed = SeenRecord(try client.read(record, of: user))?.revision
            let next = (refreshed ?? 8) + 1
            let retried = try client.write(change(next, device: "tablet", text: "from the tablet, on top of it", run))
            var report = SecondDeviceReport(
                user: user, acknowledgedRevision: 8, sentRevision: 7, status: refused.status,
                refreshedRevision: refreshed,
                retriedRevision: next, retriedStatus: retried.status)
            _ = refused.withFields { fields in
                report.currentRevision = fields.integer("current_revision")
                report.receivedRevision = fields.integer("received_revision")
                report.action = fields.optionalText("action")
                return true
            }
            return report
        } catch {
            throw DemoFailure("the second device: \(error.detail)")
        }
    }

    private static func change(_ revision: Int64, device: String, text: String, _ run: String) -> Change {
        let payload = "{\"text\":\(jsonString(text)),\"page\":12}"
        let key = "\(run)-\(user)-\(device)-\(revision)"
        return Change(
            id: key, user: user, record: record, device: device, revision: revision, type: "note", payload: payload,
            content: contentHash(of: payload), deleted: false, key: key)
    }
}
