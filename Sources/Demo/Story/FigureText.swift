/// What stands where a figure has no value.
let noValue = "–"

/// A whole number with its thousands apart: `12,345`.
func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var out = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
        if index > 0, (digits.count - index) % 3 == 0 { out += "," }
        out.append(digit)
    }
    return out
}

/// `1 record`, `2 records`.
func counted(_ count: Int, _ noun: String, plural: String? = nil) -> String {
    "\(grouped(count)) \(count == 1 ? noun : plural ?? noun + "s")"
}

/// A number with that many decimals.
func fixed(_ number: Double, places: Int) -> String {
    let scale = (0..<places).reduce(1.0) { product, _ in product * 10 }
    let units = Int((number.magnitude * scale).rounded())
    let sign = number < 0 && units > 0 ? "-" : ""
    if places == 0 { return "\(sign)\(units)" }
    let fraction = String(units % Int(scale))
    return "\(sign)\(units / Int(scale)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
}

/// A share of 0...1: `0 %`, `0.52 %`. Something never looks like nothing.
func share(_ ratio: Double?) -> String {
    guard let ratio else { return noValue }
    if ratio == 0 { return "0 %" }
    if ratio < 0.000_05 { return "<0.01 %" }
    return ratio < 1 ? "\(fixed(ratio * 100, places: 2)) %" : "100 %"
}

/// Seconds in the unit that fits: `3.2 ms`, `42 ms`, `1.4 s`.
func duration(_ seconds: Double?) -> String {
    guard let seconds else { return noValue }
    if seconds < 0.0095 { return "\(fixed(seconds * 1000, places: 1)) ms" }
    if seconds < 0.9995 { return "\(fixed(seconds * 1000, places: 0)) ms" }
    return "\(fixed(seconds, places: 1)) s"
}

/// A percent of the rollout: `1 %`, `12.5 %`.
func percent(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    if hundredths % 100 == 0 { return "\(hundredths / 100) %" }
    return "\(fixed(value, places: hundredths % 10 == 0 ? 1 : 2)) %"
}
