import Gateway
import Rollout
import Values

/// The body of a change, read strictly: a member that the operation does not know, or of another type, is refused by name.
struct ChangeBody {
    /// What a body may hold. Each operation accepts some of these.
    enum Member: String, CaseIterable {
        case to, force, percent, side, seqs, since, verify
        case allParked = "all_parked"
        case includeParked = "include_parked"
        case dryRun = "dry_run"
        case reason
    }

    /// Every change takes these two.
    static let common: [Member] = [.dryRun, .reason]
    /// A reason is kept for ever: at most so many characters.
    static let reasonMax = 1_000
    /// Changes of one replay; all that are parked are asked for with `all_parked`.
    static let seqsMax = 1_000

    var to: String?
    var force = false
    var percent: Double?
    var side: String?
    var seqs: [Int64]?
    var since: String?
    var verify = true
    var allParked = false
    var includeParked = false
    var dryRun = false
    var reason = ""

    init() {}

    /// Reads a request's body; an empty one is an empty object, and null is as good as not given.
    /// - Parameter members: what the operation accepts besides the common ones.
    init(_ bytes: [UInt8], accepting members: [Member] = []) throws(BadCall) {
        if bytes.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) { return }
        let value: JSONValue
        do throws(JSONFault) { value = try JSONValue(reading: bytes) } catch {
            throw BadCall(text: "the body is not valid JSON: \(error.text)")
        }
        guard case .object(let given) = value else { throw BadCall(text: "the body is not a JSON object") }
        let accepted = members + Self.common
        for (name, value) in given {
            guard let member = accepted.first(where: { $0.rawValue == name }) else {
                throw BadCall(
                    text: "unknown member \"\(name.prefix(40))\"; accepted: "
                        + accepted.map(\.rawValue).joined(separator: ", "))
            }
            if case .null = value { continue }
            try take(member, value)
        }
    }

    private mutating func take(_ member: Member, _ value: JSONValue) throws(BadCall) {
        switch member {
        case .to: to = try Self.text(member, value)
        case .force: force = try Self.flag(member, value)
        case .percent: percent = try Self.number(member, value)
        case .side: side = try Self.text(member, value)
        case .seqs: seqs = try Self.sequences(value)
        case .since: since = try Self.text(member, value)
        case .verify: verify = try Self.flag(member, value)
        case .allParked: allParked = try Self.flag(member, value)
        case .includeParked: includeParked = try Self.flag(member, value)
        case .dryRun: dryRun = try Self.flag(member, value)
        case .reason:
            reason = try Self.text(member, value)
            guard reason.unicodeScalars.count <= Self.reasonMax else {
                throw BadCall(text: "reason: longer than \(Self.reasonMax) characters")
            }
        }
    }

    // MARK: Values

    private static func wrongType(_ member: Member, _ accepted: String) -> BadCall {
        BadCall(text: "\(member.rawValue): the value is of the wrong type; accepted: \(accepted)")
    }

    private static func text(_ member: Member, _ value: JSONValue) throws(BadCall) -> String {
        guard case .string(let text) = value else { throw wrongType(member, "a text") }
        // No store takes it.
        if text.unicodeScalars.contains("\0") { throw BadCall(text: "\(member.rawValue): a text without U+0000") }
        return text
    }

    private static func flag(_ member: Member, _ value: JSONValue) throws(BadCall) -> Bool {
        guard case .bool(let flag) = value else { throw wrongType(member, "true or false") }
        return flag
    }

    private static func number(_ member: Member, _ value: JSONValue) throws(BadCall) -> Double {
        guard case .number(let digits) = value, let number = Double(digits) else { throw wrongType(member, "a number") }
        guard number.isFinite else { throw BadCall(text: "\(member.rawValue): the number is too large") }
        return number
    }

    private static func sequences(_ value: JSONValue) throws(BadCall) -> [Int64] {
        let accepted = "the seq of 1 to \(seqsMax) changes, such as [17]"
        guard case .array(let elements) = value else { throw wrongType(.seqs, accepted) }
        guard (1...seqsMax).contains(elements.count) else { throw BadCall(text: "seqs: accepted: \(accepted)") }
        var sequences: [Int64] = []
        for element in elements {
            guard case .number(let digits) = element, let sequence = whole(digits), (1...wholeMax).contains(sequence)
            else {
                throw wrongType(.seqs, accepted)
            }
            sequences.append(sequence)
        }
        return sequences
    }

    /// The largest number up to which every whole one is told from its neighbours by whoever reads JSON (RFC 8259 §6).
    static let wholeMax: Int64 = 9_007_199_254_740_991

    /// `17`, `17.0` and `1.7e1` are the same number.
    private static func whole(_ digits: String) -> Int64? {
        if let number = Int64(digits) { return number }
        guard let number = Double(digits), number == number.rounded(), abs(number) <= Double(wholeMax) else {
            return nil
        }
        return Int64(number)
    }
}

extension AdminAPI {
    /// Who asks for a change, and on what condition.
    func origin(_ request: ServiceRequest, _ body: ChangeBody) throws(BadCall) -> ChangeOrigin {
        var origin = ChangeOrigin(actor: "admin@\(request.peer)", reason: body.reason, isDryRun: body.dryRun)
        origin.ifGenerations = try generations(request)
        return origin
    }

    /// The generations of `If-Match`; nil when any will do. Tags are compared strongly (RFC 9110 §13.1.1): a weak one, or one that no
    /// generation has, matches nothing.
    private func generations(_ request: ServiceRequest) throws(BadCall) -> [Int64]? {
        let lines = request.headers.filter { $0.name == "if-match" }.map(\.value)
        if lines.isEmpty || lines == ["*"] { return nil }
        let text = lines.joined(separator: ",")
        guard let tags = entityTags(text) else {
            throw BadCall(
                text: "If-Match: \"\(text.prefix(40))\" is no list of entity tags; accepted: \"12\", in its quotes")
        }
        return tags.compactMap { tag in
            guard !tag.isWeak, let number = Int64(tag.text), String(number) == tag.text else { return nil }
            return number
        }
    }

    /// The answer to whoever has seen another generation than the present one; nil when there is none.
    func outdated(_ origin: ChangeOrigin) async -> ServiceResponse? {
        let current = await controller.state.generation
        return origin.accepts(current) ? nil : answer(.outdated(current: current), origin)
    }
}
