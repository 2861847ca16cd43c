/// A moment in UTC, to the millisecond.
package struct Instant: Sendable, Equatable {
    /// Milliseconds since 1970.
    package let milliseconds: Int64

    package init(seconds: Int64) { milliseconds = seconds * 1000 }

    /// The moment of a wall-clock time in milliseconds since 1970.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Seconds since 1970, without the rest.
    package var seconds: Int64 { milliseconds.flooredQuotient(1000) }

    /// Reads `2026-11-30T01:02:03Z`, with or without a fraction (what is finer than a millisecond is cut); nil for anything else, a
    /// day that the month has not included.
    package init?(_ text: String) {
        var text = text
        guard let read = text.withUTF8({ Instant.read($0) }) else { return nil }
        self.init(milliseconds: read)
    }

    /// The same of bytes, in milliseconds since 1970: for whoever reads many.
    package static func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        func number(_ start: Int, _ count: Int) -> Int64? {
            var value: Int64 = 0
            for byte in bytes[start..<start + count] {
                guard case 0x30...0x39 = byte else { return nil }
                value = value * 10 + Int64(byte - 0x30)
            }
            return value
        }
        guard bytes.count >= 20, bytes.count <= 40, bytes[bytes.count - 1] == UInt8(ascii: "Z"),
            bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[10] == UInt8(ascii: "T"),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), (1...12).contains(month), day >= 1, hour < 24,
            // A leap second is the first of the next minute.
            minute < 60, second <= 60
        else { return nil }
        let days = daysSince1970(year, month, day)
        guard month == 12 ? day <= 31 : days < daysSince1970(year, month + 1, 1) else { return nil }
        var fraction: Int64 = 0
        if bytes.count > 20 {
            let digits = bytes.count - 21
            guard bytes[19] == UInt8(ascii: "."), digits >= 1, number(20, min(digits, 18)) != nil,
                bytes[20..<20 + digits].allSatisfy({ (0x30...0x39).contains($0) })
            else { return nil }
            for place in 0..<3 { fraction = fraction * 10 + (place < digits ? Int64(bytes[20 + place] - 0x30) : 0) }
        }
        return (days * 86_400 + hour * 3600 + minute * 60 + second) * 1000 + fraction
    }

    /// `14:02 UTC` on the same day as `now`, else `2026-11-29 14:02 UTC`.
    package func shown(now: Int64) -> String {
        let sameDay = seconds.flooredQuotient(86_400) == now.flooredQuotient(86_400)
        return (sameDay ? "" : date + " ") + "\(twoDigits(hour)):\(twoDigits(minute)) UTC"
    }

    /// `2026-11-30 14:02:03`: a column of a table whose heading says UTC.
    package var column: String { "\(date) \(clock)" }

    /// `14:02:03`.
    package var clock: String { "\(twoDigits(hour)):\(twoDigits(minute)):\(twoDigits(seconds.flooredRemainder(60)))" }

    /// `2026-11-30T14:02:03Z`: the form of the admin API (ISO 8601).
    package var text: String { "\(date)T\(clock)Z" }

    /// `2026-11-30T14:02:03.123Z`: the form of a record's times. A year has four digits at least, as ISO 8601 wants it.
    package var textWithMilliseconds: String {
        let rest = milliseconds.flooredRemainder(1000)
        return "\(date)T\(clock).\(rest < 100 ? "0" : "")\(twoDigits(rest))Z"
    }

    private var hour: Int64 { seconds.flooredRemainder(86_400) / 3600 }
    private var minute: Int64 { seconds.flooredRemainder(3600) / 60 }

    private var date: String {
        // Howard Hinnant's civil_from_days: eras of 400 years that begin on 1 March.
        let shifted = seconds.flooredQuotient(86_400) + 719_468
        let era = shifted.flooredQuotient(146_097)
        let dayOfEra = shifted.flooredRemainder(146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let zeros = year < 0 ? "" : String(repeating: "0", count: max(0, 4 - "\(year)".utf8.count))
        return "\(zeros)\(year)-\(twoDigits(month))-\(twoDigits(day))"
    }
}

private func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = shiftedYear.flooredQuotient(400)
    let yearOfEra = shiftedYear.flooredRemainder(400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
}

private func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : String(number) }

extension Int64 {
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 { (self - flooredRemainder(divisor)) / divisor }
    fileprivate func flooredRemainder(_ divisor: Int64) -> Int64 { ((self % divisor) + divisor) % divisor }
}

/// An instant of the API as a table shows it; what is no instant is shown as it is.
package func instantColumn(_ text: String?) -> String { text.map { Instant($0)?.column ?? $0 } ?? "–" }
