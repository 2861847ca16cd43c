/// A moment in UTC, to the second.
package struct Instant: Sendable, Equatable {
    /// Seconds since 1970.
    package let seconds: Int64

    package init(seconds: Int64) { self.seconds = seconds }

    /// Reads `2026-11-30T01:02:03Z`, with or without a fraction; nil for anything else.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z"), bytes[10] == UInt8(ascii: "T") else { return nil }
        func number(_ range: Range<Int>) -> Int64? { Int64(String(decoding: bytes[range], as: UTF8.self)) }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
            let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month)
        else { return nil }
        seconds = daysSince1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
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

    /// The moment of a wall-clock time in milliseconds since 1970.
    package init(milliseconds: Int64) { self.init(seconds: milliseconds.flooredQuotient(1000)) }

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
        return "\(year)-\(twoDigits(month))-\(twoDigits(day))"
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
