import HTTPWire

/// What a backend has said while it is still being sent a request's body.
enum EarlyAnswer {
    /// Nothing that would explain why the sending failed.
    case none
    /// Interim answers, or the beginning of a head: it goes on to take the body (RFC 9110 §15.2). All that has arrived is read.
    case interim
    /// The head of its answer, its farewell, or what is no answer at all: it wants no more of the body.
    case final
}

extension Connection {
    /// Interim answers that wait until the body is out. Who sends more of them is not going to take it.
    private static let earlyBytesMax = 64 * 1024

    /// Finds out why a body cannot be sent on: whether the backend has spoken meanwhile. Whatever it has said is left in the input,
    /// for who reads the answer.
    /// - Parameter failure: what ended the sending: `.aborted` when the backend was heard to speak; after anything else but a
    ///   time-out its last words may lie in the socket, and nobody has been told of them yet.
    func earlyAnswer(after failure: IOFailure) -> EarlyAnswer {
        guard failure != .timeout, failure != .aborted || hasArrivals else { return .none }
        var hasEnded = false
        do throws(IOFailure) {
            if failure != .aborted { listenOnceMore() }
            while try receive() { if input.count >= Connection.earlyBytesMax { return .final } }
        } catch {
            hasEnded = true
        }
        // Only interim heads may stand in front of the answer's.
        var offset = 0
        heads: while offset < input.count {
            head.reset()
            switch head.parseResponse(input.readable + offset, input.count - offset) {
            case .complete where head.status < 200: offset += head.length
            case .complete, .refused: return .final
            case .incomplete: break heads
            }
        }
        guard hasEnded || failure != .aborted else { return .interim }
        // Whoever cannot be sent to any more will not say the rest either; who reads the answer finds out what is missing.
        return input.isEmpty && failure != .aborted ? .none : .final
    }
}
