/// The moment of a line: RFC 3339 with milliseconds, or as the combined format has it, both in UTC. What changes once a
/// second is worked out once a second. Confined to its loop.
struct AccessTime {
    private static let months: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"
    private var second = Int64.min
    private var (year, month, day) = (1970, 1, 1)

    /// - Parameter milliseconds: since 1970.
    mutating func write(_ milliseconds: Int64, to line: inout LineWriter, _ style: LineWriter.Style) {
        let milliseconds = max(0, milliseconds)
        let now = milliseconds / 1000
        if now / 86_400 != second / 86_400 || second < 0 { setDate(now / 86_400) }
        second = now
        let (hour, minute, rest) = (Int(now % 86_400 / 3600), Int(now % 3600 / 60), Int(now % 60))
        switch style {
        case .json:
            line.add(decimal: year, digits: 4)
            line.add(UInt8(ascii: "-"))
            line.add(decimal: month, digits: 2)
            line.add(UInt8(ascii: "-"))
            line.add(decimal: day, digits: 2)
            line.add(UInt8(ascii: "T"))
        case .combined:
            line.add(decimal: day, digits: 2)
            line.add(UInt8(ascii: "/"))
            line.add(Self.months.utf8Start + 3 * (month - 1), 3)
            line.add(UInt8(ascii: "/"))
            line.add(decimal: year, digits: 4)
            line.add(UInt8(ascii: ":"))
        }
        line.add(decimal: hour, digits: 2)
        line.add(UInt8(ascii: ":"))
        line.add(decimal: minute, digits: 2)
        line.add(UInt8(ascii: ":"))
        line.add(decimal: rest, digits: 2)
        switch style {
        case .json:
            line.add(UInt8(ascii: "."))
            line.add(decimal: Int(milliseconds % 1000), digits: 3)
            line.add(UInt8(ascii: "Z"))
        case .combined: line.add(" +0000")
        }
    }

    /// Civil date of a day since 1970 (Hinnant's `civil_from_days`): years that begin in March end with the leap day.
    private mutating func setDate(_ days: Int64) {
        let shifted = Int(days) + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let fromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * fromMarch + 2) / 5 + 1
        month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }
}
