extension Value {
    /// Longest duration: anything above is a slip, and sums of durations stay far from overflow.
    static let maximumDurationMilliseconds: Int64 = 3650 * 86_400_000
    /// Largest size.
    static let maximumSizeBytes: Int64 = 1 << 40

    private static let durationUnits: [(name: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    private static let durationSlips: [String: String] = [
        "msec": "ms", "millis": "ms", "milliseconds": "ms", "sec": "s", "secs": "s", "second": "s",
        "seconds": "s", "min": "m", "mins": "m", "minute": "m", "minutes": "m", "hr": "h", "hrs": "h", "hour": "h",
        "hours": "h", "day": "d", "days": "d",
    ]
    private static let sizeUnits: [(name: String, bytes: Int64)] = [
        ("", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
    ]
    private static let sizeSlips: [String: String] = [
        "k": "KiB", "kb": "KiB", "kib": "KiB", "ki": "KiB", "m": "MiB", "mb": "MiB", "mib": "MiB", "mi": "MiB",
        "g": "GiB", "gb": "GiB", "gib": "GiB", "gi": "GiB", "b": "", "byte": "", "bytes": "",
    ]

    /// A duration, `250ms`, in milliseconds.
    static func duration(_ text: String) throws(ValueProblem) -> Int64 {
        let accepted = "a whole number with ms, s, m, h or d, such as 250ms, 10s, 2h, 90d"
        guard let (number, rest) = leadingNumber(text[...], decimals: 0) else {
            throw ValueProblem("not a duration", accepted: accepted)
        }
        guard let unit = durationUnits.first(where: { $0.name == rest }) else {
            // Which unit was meant cannot be guessed: 300 as a limit of a wait is ms, as a window it is s.
            if rest.isEmpty {
                throw ValueProblem(
                    "a duration without its unit", accepted: "\(number)ms or \(number)s, or with m, h or d")
            }
            let word = rest.trimmed.lowercased()
            let known = durationSlips[word] ?? durationUnits.first { $0.name == word }?.name
            throw ValueProblem("not a duration", accepted: accepted, suggestion: known.map { "\(number)\($0)" })
        }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        guard !overflow, milliseconds <= maximumDurationMilliseconds else {
            throw ValueProblem("out of range", accepted: "at most 3650d")
        }
        return milliseconds
    }

    /// A size, `64KiB`, in bytes; a bare number is bytes.
    static func size(_ text: String) throws(ValueProblem) -> Int {
        let accepted = "a whole number of bytes or one with KiB, MiB or GiB, such as 1024, 64KiB, 8MiB"
        guard let (number, rest) = leadingNumber(text[...], decimals: 0) else {
            throw ValueProblem("not a size", accepted: accepted)
        }
        guard let unit = sizeUnits.first(where: { $0.name == rest }) else {
            throw ValueProblem(
                "not a size", accepted: accepted,
                suggestion: sizeSlips[rest.trimmed.lowercased()].map { "\(number)\($0)" })
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
        guard !overflow, bytes <= maximumSizeBytes, let size = Int(exactly: bytes) else {
            throw ValueProblem("out of range", accepted: "at most 1024GiB")
        }
        return size
    }

    /// Milliseconds in the largest unit that shows them whole, for messages.
    static func durationText(_ milliseconds: Int64) -> String {
        for unit in durationUnits.reversed() where milliseconds >= unit.milliseconds {
            if milliseconds % unit.milliseconds == 0 { return "\(milliseconds / unit.milliseconds)\(unit.name)" }
        }
        return "\(milliseconds)ms"
    }

    /// Bytes in the largest unit that shows them whole, for messages.
    static func sizeText(_ bytes: Int) -> String {
        for unit in sizeUnits.dropFirst(2).reversed() where bytes >= Int(unit.bytes) {
            if bytes % Int(unit.bytes) == 0 { return "\(bytes / Int(unit.bytes))\(unit.name)" }
        }
        return "\(bytes)"
    }
}

extension StringProtocol {
    /// Without the white space at either end.
    var trimmed: String {
        var text = Substring(self)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

/// A duration as the configuration writes them, `24h`, in milliseconds; nil for anything else.
package func durationMilliseconds(_ text: String) -> Int64? { try? Value.duration(text) }
