import CLinux

/// Writes one line to standard error: for what an operator should know of. Never bodies, tokens or user ids.
///
/// It begins with the time (RFC 3339, UTC), unless standard error is systemd's journal, which has it already.
package func logLine(_ text: String) {
    var line = (isJournal ? "" : timeText(clinux_wall_milliseconds()) + " ") + "cutover: \(text)\n"
    line.withUTF8 { bytes in _ = write(2, bytes.baseAddress, bytes.count) }
}

/// Standard error is the stream that systemd tells of in JOURNAL_STREAM, `DEVICE:INODE` (systemd.exec(5)): not so where it was
/// redirected since.
private let isJournal: Bool = {
    var status = stat()
    guard let told = getenv("JOURNAL_STREAM"), fstat(2, &status) == 0 else { return false }
    return String(cString: told) == "\(status.st_dev):\(status.st_ino)"
}()

/// - Parameter milliseconds: since 1970.
private func timeText(_ milliseconds: Int64) -> String {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { memory in
        guard let base = memory.baseAddress else { return "" }
        var line = LineWriter(base, capacity: memory.count)
        var time = AccessTime()
        time.write(milliseconds, to: &line, .json)
        return String(decoding: memory[..<line.count], as: UTF8.self)
    }
}
