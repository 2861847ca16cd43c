/// Writes the Prometheus text exposition format 0.0.4.
///
/// A family is announced once with HELP and TYPE, its samples follow. What is written comes out in the order of the
/// calls, so the same calls give the same text.
package struct PrometheusText: Sendable {
    /// The `Content-Type` of an answer that carries it.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The kinds of metric that are used here.
    package enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    /// A label's name and value; the value is escaped when written, the name is code.
    package typealias Labels = [(String, String)]

    /// The text so far, UTF-8.
    package private(set) var bytes: [UInt8] = []
    private var family = ""

    /// An empty page.
    package init() { bytes.reserveCapacity(96 * 1024) }

    /// Begins a family.
    ///
    /// - Precondition: each name is announced once; a counter's name ends in `_total`.
    package mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        precondition(kind != .counter || name.hasSuffix("_total"), "a counter's name ends in _total")
        family = name
        append("# HELP ")
        append(name)
        append(" ")
        escape(help, quotes: false)
        append("\n# TYPE ")
        append(name)
        append(" ")
        append(kind.rawValue)
        append("\n")
    }

    /// One sample of the family with a whole number.
    package mutating func sample(_ labels: Labels, _ value: UInt64, suffix: String = "") {
        series(labels, suffix: suffix)
        append(String(value))
        append("\n")
    }

    /// One sample of the family; nil is NaN.
    package mutating func sample(_ labels: Labels, _ value: Double?, suffix: String = "") {
        series(labels, suffix: suffix)
        append(Self.number(value ?? .nan))
        append("\n")
    }

    /// The series of one histogram: cumulative buckets, `+Inf`, sum and count.
    package mutating func histogram(_ labels: Labels, _ histogram: Histogram) {
        let count = histogram.count
        for (bound, below) in zip(HistogramLayout.boundLabels, histogram.cumulative) {
            sample(labels + [("le", bound)], below, suffix: "_bucket")
        }
        sample(labels + [("le", "+Inf")], count, suffix: "_bucket")
        sample(labels, histogram.sumSeconds, suffix: "_sum")
        sample(labels, count, suffix: "_count")
    }

    /// A number as the format wants it; whole numbers without a fraction.
    package static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
        return String(value)
    }

    private mutating func series(_ labels: Labels, suffix: String) {
        append(family)
        append(suffix)
        if !labels.isEmpty {
            var separator = "{"
            for (name, value) in labels {
                append(separator)
                append(name)
                append("=\"")
                escape(value, quotes: true)
                append("\"")
                separator = ","
            }
            append("}")
        }
        append(" ")
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Backslash and line feed are escaped everywhere, the quote in label values only.
    private mutating func escape(_ text: String, quotes: Bool) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): append("\\\\")
            case UInt8(ascii: "\n"): append("\\n")
            case UInt8(ascii: "\"") where quotes: append("\\\"")
            case _: bytes.append(byte)
            }
        }
    }
}
