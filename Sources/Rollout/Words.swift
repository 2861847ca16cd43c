// Numbers as an operator reads them, without a library for formatting.

/// `3.1 %` of a share 0…1; `no sample` without one.
func percentWords(_ share: Double?) -> String {
    guard let share else { return "no sample" }
    return decimalWords(share * 100) + " %"
}

/// `38 ms`, `1.2 s`, `5 min`, `1 min 38 s`, `2 h`.
func durationWords(_ seconds: Double?) -> String {
    guard let seconds else { return "unknown" }
    if seconds < 1 { return decimalWords(seconds * 1000) + " ms" }
    if seconds < 10 { return decimalWords(seconds) + " s" }
    guard seconds < 9e15 else { return decimalWords(seconds / 3600) + " h" }
    let whole = Int64(seconds.rounded())
    if whole < 60 { return "\(whole) s" }
    return whole < 3600 ? twoUnits(whole, 60, "min", "s") : twoUnits(whole / 60, 60, "h", "min")
}

private func twoUnits(_ amount: Int64, _ size: Int64, _ large: String, _ small: String) -> String {
    let rest = amount % size == 0 ? "" : " \(amount % size) \(small)"
    return "\(amount / size) \(large)\(rest)"
}

func factorWords(_ factor: Double) -> String { decimalWords(factor) }

/// Two significant digits below ten, whole numbers above a hundred, no trailing zeros.
private func decimalWords(_ value: Double) -> String {
    guard value.isFinite else { return "∞" }
    let places = value >= 100 ? 1.0 : value >= 10 ? 10.0 : value >= 1 ? 100.0 : value >= 0.1 ? 1_000.0 : 10_000.0
    let scaled = (value * places).rounded()
    let whole = Int64(scaled / places)
    var rest = String(Int64(scaled) - whole * Int64(places))
    guard rest != "0" else { return String(whole) }
    rest = String(repeating: "0", count: String(Int64(places)).count - 1 - rest.count) + rest
    while rest.hasSuffix("0") { rest.removeLast() }
    return "\(whole).\(rest)"
}
