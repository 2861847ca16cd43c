/// What stands where a figure has no value.
let noValue = "–"

/// A whole number with its thousands apart: `12,345`.
func grouped(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var out = ""
    for (index, digit) in digits.enumerated() {
        if index > 0, (digits.count - index) % 3 == 0 { out += "," }
        out.append(digit)
    }
    return number < 0 ? "-" + out : out
}

/// A decimal number with at most that many places, without trailing zeros.
func decimal(_ number: Double, places: Int) -> String {
    let scale = (0..<places).reduce(1.0) { product, _ in product * 10 }
    let scaled = (number.magnitude * scale).rounded()
    guard scaled < 9e15 else { return String(number) }
    let units = Int(scaled)
    let whole = units / Int(scale)
    var fraction = String(units % Int(scale))
    fraction = String(repeating: "0", count: max(0, places - fraction.count)) + fraction
    while fraction.last == "0" { fraction.removeLast() }
    let sign = number < 0 && units > 0 ? "-" : ""
    return fraction.isEmpty ? "\(sign)\(whole)" : "\(sign)\(whole).\(fraction)"
}

/// A percent as the rollout knows it, two places at most: `12.5`.
func percentText(_ percent: Double) -> String { decimal(percent, places: 2) }

/// A share of 0...1 in percent: `0.5 %`. Something never looks like nothing.
func ratioText(_ ratio: Double) -> String {
    if ratio > 0, ratio < 0.000_05 { return "<0.01 %" }
    return decimal(ratio * 100, places: 2) + " %"
}

/// A duration in the unit that fits: `42 ms`, `1.4 s`, `12 min`, `3 h`, `5 d`.
func durationText(_ seconds: Double) -> String {
    switch seconds {
    case ..<0: noValue
    case 0: "0"
    case ..<0.0095: decimal(seconds * 1000, places: 1) + " ms"
    case ..<0.9995: decimal(seconds * 1000, places: 0) + " ms"
    case ..<59.95: decimal(seconds, places: 1) + " s"
    case ..<3600: decimal((seconds / 60).rounded(.down), places: 0) + " min"
    case ..<172_800: decimal((seconds / 3600).rounded(.down), places: 0) + " h"
    default: decimal((seconds / 86_400).rounded(.down), places: 0) + " d"
    }
}

/// A percent as hundredths, from `12.5` or `12.5%`; nil when it is no number of 0...100 with two places at most.
func percentHundredths(_ text: String) -> Int? {
    var digits = trimmed(text)[...]
    if digits.hasSuffix("%") { digits = trimmed(digits.dropLast())[...] }
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    let isNumber = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    guard (1...2).contains(parts.count), isNumber, let whole = Int(parts[0]), whole <= 100 else { return nil }
    var hundredths = 0
    if parts.count == 2 {
        let places = parts[1].count > 2 ? parts[1].prefix(2) + parts[1].dropFirst(2).drop { $0 == "0" } : parts[1]
        guard places.count <= 2, let value = Int(places) else { return nil }
        hundredths = places.count == 1 ? value * 10 : value
    }
    let total = whole * 100 + hundredths
    return total <= 10_000 ? total : nil
}

/// Hundredths of a percent as a decimal number: 618 is `6.18`.
func hundredthsText(_ hundredths: Int) -> String {
    let fraction = hundredths % 100
    if fraction == 0 { return String(hundredths / 100) }
    if fraction % 10 == 0 { return "\(hundredths / 100).\(fraction / 10)" }
    return "\(hundredths / 100)." + (fraction < 10 ? "0\(fraction)" : String(fraction))
}
