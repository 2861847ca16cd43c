import CLinux

/// Writes one line to standard error: for what an operator should know of. Never bodies, tokens or user ids.
package func logLine(_ text: String) {
    var line = "cutover: \(text)\n"
    line.withUTF8 { bytes in _ = write(2, bytes.baseAddress, bytes.count) }
}
