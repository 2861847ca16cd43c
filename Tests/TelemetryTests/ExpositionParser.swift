/// One sample line of a page.
struct Sample: Equatable {
    let name: String
    let labels: [String: String]
    let value: Double
}

/// A page as a scraper sees it. Written against the format's description and not against the writer.
struct Exposition {
    /// Family name to kind, in order of appearance in `order`.
    var kinds: [String: String] = [:]
    var order: [String] = []
    var samples: [Sample] = []
    /// What a strict scraper would refuse.
    var faults: [String] = []
    private var seen: Set<String> = []

    init(_ text: String) {
        var current = ""
        var helped = ""
        if !text.hasSuffix("\n") { faults.append("the last line is not ended") }
        for line in text.split(separator: "\n") {
            if line.hasPrefix("# HELP ") {
                helped = String(line.split(separator: " ")[2])
                if line.split(separator: " ").count < 4 { faults.append("no help: \(line)") }
            } else if line.hasPrefix("# TYPE ") {
                let words = line.split(separator: " ").map(String.init)
                current = words[2]
                if helped != current { faults.append("TYPE without HELP: \(line)") }
                if kinds.updateValue(words[3], forKey: current) != nil { faults.append("twice: \(line)") }
                order.append(current)
            } else {
                sample(line, of: current)
            }
        }
    }

    private mutating func sample(_ line: Substring, of family: String) {
        guard let space = line.lastIndex(of: " "), let value = Self.number(line[line.index(after: space)...]) else {
            return faults.append("no value: \(line)")
        }
        let series = line[..<space]
        let name = series.prefix { $0 != "{" }
        let suffixes = kinds[family] == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
        if !suffixes.contains(where: { name == family + $0 }) { faults.append("outside its family: \(line)") }
        guard let labels = Self.labels(series.dropFirst(name.count)) else { return faults.append("labels: \(line)") }
        let sample = Sample(name: String(name), labels: labels, value: value)
        if samples.contains(where: { $0.name == sample.name && $0.labels == labels }) {
            faults.append("twice: \(line)")
        }
        samples.append(sample)
    }

    private static func number(_ text: Substring) -> Double? {
        switch text {
        case "NaN": .nan
        case "+Inf": .infinity
        case "-Inf": -.infinity
        default: text.contains("n") ? nil : Double(text)
        }
    }

    /// `{name="value",…}`, or nothing.
    private static func labels(_ text: Substring) -> [String: String]? {
        guard !text.isEmpty else { return [:] }
        guard text.hasPrefix("{"), text.hasSuffix("}") else { return nil }
        var rest = text.dropFirst().dropLast()
        var result: [String: String] = [:]
        while !rest.isEmpty {
            let name = rest.prefix { $0.isLetter || $0 == "_" }
            rest = rest.dropFirst(name.count)
            guard !name.isEmpty, rest.hasPrefix("=\"") else { return nil }
            rest = rest.dropFirst(2)
            var value = ""
            while let character = rest.popFirst(), character != "\"" {
                guard character == "\\" else {
                    value.append(character)
                    continue
                }
                guard let escaped = rest.popFirst() else { return nil }
                value.append(escaped == "n" ? "\n" : escaped)
            }
            guard result.updateValue(value, forKey: String(name)) == nil else { return nil }
            if rest.hasPrefix(",") { rest = rest.dropFirst() }
        }
        return result
    }

    /// The value of one series; nil when it is absent.
    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        samples.first { $0.name == name && $0.labels == labels }?.value
    }
}
