/// Percents as whole numbers of hundredths: 10000 is everybody. Whoever compares them never meets a fraction.
package enum Percent {
    /// Hundredths of a percent that was given as a number, as in `{"percent":12.5}`; nil when it is outside 0...100 or
    /// has more than two decimals.
    package static func hundredths(_ percent: Double) -> Int? {
        guard percent >= 0, percent <= 100 else { return nil }
        // By hand: `rounded()` would want the mathematics library, which a pure floor does not link.
        let scaled = Int(percent * 100 + 0.5)
        // 12.34 × 100 is not a whole number in binary, but within this of one; a third decimal is 0.1 away.
        return abs(percent * 100 - Double(scaled)) < 1e-6 ? scaled : nil
    }

    /// `12.5` of 1250: the shortest decimal, for messages and JSON.
    package static func text(hundredths: Int) -> String {
        let (whole, fraction) = (hundredths / 100, hundredths % 100)
        if fraction == 0 { return "\(whole)" }
        if fraction % 10 == 0 { return "\(whole).\(fraction / 10)" }
        return "\(whole).\(fraction < 10 ? "0" : "")\(fraction)"
    }
}
