import CLinux
import Comparison
import Configuration
import ContentCoding
import HTTPWire
import Rollout

/// What two captured answers are to each other.
enum ComparisonVerdict {
    case equal
    case different
    /// One of them is a 304 or a part, which says nothing about the content, or a stream of events, which has no end.
    case incomparable
    /// One of them is missing, broken, an error of the server, or cannot be decoded.
    case failed
    /// One of them exceeds the limit.
    case tooLarge
}

/// Compares two answers (contract §7). The bytes decide first: equal bytes under equal headers are equal content, and
/// only what differs as bytes is decoded and hashed as a value.
func compare(
    _ a: AnswerCapture, _ b: AnswerCapture, settings: ShadowSettings, hasher: ContentHasher, scratch: MessageHead
) -> ComparisonVerdict {
    if a.state == .endless || b.state == .endless { return .incomparable }
    if a.state == .tooLarge || b.state == .tooLarge { return .tooLarge }
    guard a.state == .complete, b.state == .complete, a.status < 500, b.status < 500 else { return .failed }
    let partial = [304, 206, 416]
    if partial.contains(a.status) || partial.contains(b.status) { return .incomparable }
    // What is coded has to be decodable before anything can be said of it.
    let sameBody = a.contentEncoding.isEmpty && b.contentEncoding.isEmpty && equalBytes(a.body, b.body)
    if a.status == b.status, sameBody, equalHeaders(a, b, settings.headers, scratch) { return .equal }
    // Where the media type does not count, what only one side calls JSON is compared as bytes: equal bytes stay equal.
    let isJSON = isJSON(a) && isJSON(b)
    guard let first = hash(a, isJSON, settings, hasher, scratch),
        let second = hash(b, isJSON, settings, hasher, scratch)
    else { return .failed }
    switch (first, second) {
    case (.tooLarge, _), (_, .tooLarge): return .tooLarge
    case (.hash(let x), .hash(let y)): return x == y ? .equal : .different
    }
}

private func equalBytes(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
    guard a.count == b.count else { return false }
    guard let p = a.baseAddress, let q = b.baseAddress, a.count > 0 else { return true }
    return memcmp(p, q, a.count) == 0
}

/// Only the list that everybody has is compared without parsing; any other goes through the hash.
private func equalHeaders(_ a: AnswerCapture, _ b: AnswerCapture, _ names: [String], _ scratch: MessageHead) -> Bool {
    names == ["content-type"] && equalBytes(a.slice(a.contentType), b.slice(b.contentType))
}

private func isJSON(_ answer: AnswerCapture) -> Bool { isJSONMediaType(answer.slice(answer.contentType)) }

private enum HashOutcome {
    case hash(ContentHash)
    case tooLarge
}

/// Hash of status, listed headers and content; nil when the content cannot be decoded.
private func hash(
    _ answer: AnswerCapture, _ isJSON: Bool, _ settings: ShadowSettings, _ hasher: ContentHasher, _ scratch: MessageHead
) -> HashOutcome? {
    let content: ContentHash
    if answer.contentEncoding.isEmpty {
        content = hasher.hash(answer.body, isJSON: isJSON, rules: settings.comparison)
    } else {
        switch decodeContent(answer.body, codings: answer.slice(answer.contentEncoding), limit: settings.bodyMaxBytes) {
        case .decoded(let bytes): content = hasher.hash(bytes, isJSON: isJSON, rules: settings.comparison)
        case .tooLarge: return .tooLarge
        case .undecodable: return nil
        }
    }
    var whole = AnswerHash(status: answer.status)
    scratch.reset()
    guard case .complete = scratch.parseResponse(answer.bytes.readable, answer.head.count) else { return nil }
    for name in settings.headers.sorted() {
        let wanted = Array(name.utf8)
        for i in 0..<scratch.fieldCount {
            let field = scratch.field(i)
            let found = field.name(in: answer.bytes.readable)
            guard found.count == wanted.count, zip(found, wanted).allSatisfy({ lowercased($0) == $1 }) else { continue }
            whole.add(name: found, value: field.value(in: answer.bytes.readable))
        }
    }
    return .hash(whole.finish(body: content))
}

@inline(__always)
private func lowercased(_ byte: UInt8) -> UInt8 { byte &- 65 < 26 ? byte | 0x20 : byte }

/// What the operator gets to see of a mismatch: never a value, unless `keep_values` says so.
func describe(_ read: ShadowRead, settings: ShadowSettings, hasher: ContentHasher, scratch: MessageHead) -> Mismatch {
    let (legacy, new) = read.primarySide == .legacy ? (read.primary, read.other) : (read.other, read.primary)
    let isJSON = isJSON(legacy) && isJSON(new)
    func summary(_ answer: AnswerCapture) -> Mismatch.Answer {
        let text: String
        if case .hash(let value)? = hash(answer, isJSON, settings, hasher, scratch) {
            text = value.hex
        } else {
            text = ""
        }
        return Mismatch.Answer(status: answer.status, hash: text)
    }
    let first = decodedBody(legacy, settings)
    let second = decodedBody(new, settings)
    let found = first.withUnsafeBufferPointer { a in
        second.withUnsafeBufferPointer { b in
            findDifferences(a, b, isJSON: isJSON, rules: settings.comparison, includeValues: settings.keepValues)
        }
    }
    let kind =
        legacy.status != new.status ? "status" : found.isEmpty ? "headers" : isJSON ? "content" : "bytes"
    let line = read.message(to: read.primarySide.other)
    let words = line.prefix { $0 != 13 }.split(separator: 32)
    return Mismatch(
        atMilliseconds: clinux_wall_milliseconds(), kind: kind,
        method: words.first.map { String(decoding: $0, as: UTF8.self) } ?? "",
        target: words.count > 1 ? String(decoding: words[1], as: UTF8.self) : "",
        paths: found.map(\.path), legacy: summary(legacy), new: summary(new),
        values: settings.keepValues ? found.map { (legacy: $0.first ?? "", new: $0.second ?? "") } : [])
}

private func decodedBody(_ answer: AnswerCapture, _ settings: ShadowSettings) -> [UInt8] {
    guard !answer.contentEncoding.isEmpty else { return Array(answer.body) }
    let outcome = decodeContent(
        answer.body, codings: answer.slice(answer.contentEncoding), limit: settings.bodyMaxBytes)
    if case .decoded(let bytes) = outcome { return bytes }
    return Array(answer.body)
}
