import Configuration
import HTTPWire

/// What becomes of traces, in the form that requests ask for. Immutable.
struct TracingRules: Sendable {
    /// A request that brings no trace begins one.
    let begins: Bool
    /// What the client sends goes on as it is.
    let passes: Bool
    /// Spans of sampled traces are exported.
    let exports: Bool
    private let sampleHundredths: UInt64

    init(_ settings: TracingSettings) {
        begins = settings.context == .start
        passes = settings.context == .pass
        exports = settings.otlp != nil
        sampleHundredths = UInt64(settings.sampleHundredths)
    }

    /// A new trace, sampled or not by its id: whoever draws by the id draws alike.
    func begin(_ high: UInt64, _ low: UInt64) -> TraceParent {
        let isSampled = ((low >> 32) &* 10_000) >> 32 < sampleHundredths
        return TraceParent(high: high, low: high == 0 && low == 0 ? 1 : low, parent: 0, flags: isSampled ? 1 : 0)
    }
}

extension ClientSession {
    /// Finds out which trace the request at hand belongs to (W3C Trace Context §4.3).
    ///
    /// A trace that the client brings goes on: what a backend gets names the same trace, with a span of the gateway's as
    /// the parent. What is no `traceparent`, or more than one, is worth nothing, and neither is the `tracestate` beside
    /// it: a new trace begins.
    func takeUpTrace() {
        let head = client.head
        let p = client.input.readable
        var found: TraceParent?
        var count = 0
        for i in 0..<head.fieldCount where head.field(i).kind == .traceParent {
            count &+= 1
            let field = head.field(i)
            let start = Int(field.valueStart)
            found = count == 1 ? TraceParent(p + start, Int(field.valueEnd) &- start) : nil
        }
        request.isTraced = !snapshot.tracing.passes
        guard let found else {
            // The request's own id is as random as a trace's has to be, and who finds one finds the other.
            if request.isTraced { request.trace = snapshot.tracing.begin(request.id.high, request.id.low) }
            request.dropsTraceState = request.isTraced
            return
        }
        request.trace = found
        if request.isTraced, head.has(.traceState) { request.dropsTraceState = !hasValidTraceState(head, p) }
    }

    private func hasValidTraceState(_ head: MessageHead, _ p: UnsafePointer<UInt8>) -> Bool {
        var check = TraceStateCheck()
        for i in 0..<head.fieldCount where head.field(i).kind == .traceState {
            let start = Int(head.field(i).valueStart)
            check.add(p + start, Int(head.field(i).valueEnd) &- start)
        }
        return check.isValid
    }

    /// The trace goes on to a backend, in a span that is this leg's alone: each call makes another one.
    func appendTraceParent(to out: Buffer) {
        let span = loop.random.span()
        spans?.leg = span
        appendTraceParent(to: out, span)
    }

    /// The same for a span that is known.
    func appendTraceParent(to out: Buffer, _ span: UInt64) {
        guard let trace = request.trace else { return }
        out.append(TraceParent.lineStart)
        out.append(hex: trace.high)
        out.append(hex: trace.low)
        out.append(byte: UInt8(ascii: "-"))
        out.append(hex: span)
        out.append("-0")
        out.append(byte: 0x30 | trace.flags)
        out.append("\r\n")
    }
}
