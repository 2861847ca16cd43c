import Glibc
import Journal
import Rollout
import Testing

@testable import StoreSQLite

/// A directory of its own, removed at the end of the test.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/cutover-store-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
    }

    deinit {
        for name in names { unlink(path + "/" + name) }
        rmdir(path)
    }

    var data: String { path }

    var names: [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Copies every file, byte by byte, as a crash would leave them.
    func copied() -> TemporaryDirectory {
        let copy = TemporaryDirectory()
        // The lock is not part of what a crash leaves; -shm is rebuilt from the WAL.
        for name in names where name != "lock" && !name.hasSuffix("-shm") {
            write(readFile(path + "/" + name), to: copy.path + "/" + name)
        }
        return copy
    }
}

func readFile(_ path: String) -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
    return bytes
}

func write(_ bytes: [UInt8], to path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    var offset = 0
    while offset < bytes.count {
        let count = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { break }
        offset += count
    }
    close(descriptor)
}

/// A write with sensible defaults. The fingerprint follows from target and body unless it is given.
func submission(
    user: String? = "anna", _ records: [(String, Int64?)] = [("note", nil)], key: String? = nil, body: String = "{}",
    payload: String? = nil, target: String = "/changes", side: Side = .legacy, dualWrite: Bool = true
) -> Submission {
    Submission(
        user: user,
        records: records.map { RecordRevision(record: $0.0, revision: $0.1, payloadHash: payload ?? body) },
        idempotencyKey: key, outgoingKey: key ?? "made", fingerprint: target + body, method: "POST", target: target,
        headerLines: Array("Content-Type: application/json\r\n".utf8),
        conditionalLines: Array("If-Match: \"1\"\r\n".utf8), body: Array(body.utf8), side: side, dualWrite: dualWrite)
}

func answer(_ status: Int = 201, body: String = "ok", servedBy: Side = .legacy) -> StoredAnswer {
    StoredAnswer(
        status: status, headerLines: Array("ETag: \"2\"\r\n".utf8), body: Array(body.utf8), servedBy: servedBy)
}

extension JournalUpdate {
    /// The client got 201 from legacy; the leg to new is as given.
    static func accepted(_ sequence: Sequence64, new: LegState = .pending, answer: StoredAnswer = answer()) -> Self {
        .answered(
            sequence, servedBy: .legacy,
            legs: Legs(legacy: LegStatus(.applied, attempts: 1, lastStatus: answer.status), new: LegStatus(new)),
            answer: answer, revisionAccepted: true)
    }

    /// The client got 201 from new, and legacy was not told.
    static func acceptedByNew(_ sequence: Sequence64) -> Self {
        .answered(
            sequence, servedBy: .new,
            legs: Legs(legacy: LegStatus(.skipped), new: LegStatus(.applied, attempts: 1, lastStatus: 201)),
            answer: answer(servedBy: .new), revisionAccepted: true)
    }

    /// The authoritative backend refused it with a 4xx.
    static func refused(_ sequence: Sequence64, status: Int = 422) -> Self {
        .answered(
            sequence, servedBy: .legacy,
            legs: Legs(legacy: LegStatus(.refused, attempts: 1, lastStatus: status), new: LegStatus(.skipped)),
            answer: answer(status, body: "no"), revisionAccepted: false)
    }

    /// The authoritative backend failed, and nothing took over.
    static func failed(_ sequence: Sequence64) -> Self {
        .answered(
            sequence, servedBy: nil,
            legs: Legs(legacy: LegStatus(.skipped, attempts: 1, lastStatus: 503), new: LegStatus(.skipped)),
            answer: nil, revisionAccepted: false)
    }
}

extension Admission {
    /// A short text to compare with.
    var summary: String {
        switch self {
        case .accepted(let sequence): "accepted \(sequence)"
        case .replay(let answer): "replay \(answer.status)"
        case .running: "running"
        case .keyReused: "reused"
        case .stale(let items):
            "stale " + items.map { "\($0.record):\($0.received)<\($0.current)" }.joined(separator: ",")
        case .unavailable: "unavailable"
        }
    }
}

extension SQLiteStore {
    /// Submits one group and returns what was said, as short texts.
    func said(_ submissions: Submission..., updates: [JournalUpdate] = [], now: Int64 = 1_000) throws -> [String] {
        try commit(submissions, updates: updates, now: now).admissions.map(\.summary)
    }
}
