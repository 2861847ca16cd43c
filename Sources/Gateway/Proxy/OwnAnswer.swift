import HTTPWire
import Journal
import Telemetry
import Values

/// An answer that the gateway gives by itself: the one table from what went wrong to what the client sees.
enum OwnAnswer {
    case malformed(HeadFault)
    case malformedBody
    /// HTTP without TLS where TLS is spoken.
    case plaintext
    case requestTimeout
    /// A token or a signed cookie does not hold, and `user.unverifiable` is 401.
    case unauthorized(IdentityRejection)
    case bodyTooLarge(limit: Int)
    case upstream(UpstreamFailure)
    case staleRevision([StaleRevision], isBatch: Bool)
    case keyMissing
    case keyReused
    case keyRunning
    /// The first attempt was answered with this status, and its answer was too large to be kept.
    case answerNotKept(status: Int)
    case badWrite(String)
    case journalUnavailable
    case laneBusy
    /// There are as many tunnels as `limits.tunnels` allows.
    case tunnelsBusy

    var status: Int {
        switch self {
        case .malformed(let fault): fault.status
        case .malformedBody, .plaintext: 400
        case .requestTimeout: 408
        case .unauthorized: 401
        case .bodyTooLarge: 413
        case .upstream(let failure):
            switch failure {
            case .timeout: 504
            case .exhausted: 503
            case .connect, .broken, .malformed, .clientGone: 502
            }
        case .staleRevision, .keyRunning, .answerNotKept: 409
        case .keyReused: 422
        case .badWrite, .keyMissing: 400
        case .journalUnavailable, .laneBusy, .tunnelsBusy: 503
        }
    }

    /// Last part of the problem's `type`.
    var kind: StaticString {
        switch self {
        case .malformed: "malformed-request"
        case .malformedBody: "malformed-body"
        case .plaintext: "tls-required"
        case .requestTimeout: "request-timeout"
        case .unauthorized: "invalid-token"
        case .bodyTooLarge: "body-too-large"
        case .upstream(let failure):
            switch failure {
            case .timeout: "backend-timeout"
            case .exhausted: "backend-busy"
            case .connect: "backend-unreachable"
            case .broken, .clientGone: "backend-broke-off"
            case .malformed: "backend-malformed-answer"
            }
        case .staleRevision: "stale-revision"
        case .keyMissing: "idempotency-key-missing"
        case .keyReused: "idempotency-key-reused"
        case .keyRunning: "idempotency-key-running"
        case .answerNotKept: "answer-not-kept"
        case .badWrite: "unusable-write"
        case .journalUnavailable: "journal-unavailable"
        case .laneBusy: "earlier-write-outstanding"
        case .tunnelsBusy: "tunnels-busy"
        }
    }

    var detail: String {
        switch self {
        case .malformed(let fault): "\(fault.text)"
        case .malformedBody: "the body's framing is broken"
        case .plaintext: "this address speaks TLS: write https"
        case .requestTimeout: "the request did not arrive in time"
        case .unauthorized(.expired): "the token has expired"
        case .unauthorized(.notYetValid): "the token is not valid yet"
        case .unauthorized: "the token cannot be verified"
        case .bodyTooLarge(let limit): "the body is larger than \(limit) bytes"
        case .upstream(let failure):
            switch failure {
            case .timeout: "the backend did not answer in time"
            case .exhausted: "every connection to the backend is busy"
            case .connect: "the backend cannot be reached"
            case .broken, .clientGone: "the backend broke the connection off"
            case .malformed: "the backend's answer is not valid HTTP"
            }
        case .staleRevision: "the record has a newer revision: refresh, then write again"
        case .keyMissing: "this request needs an Idempotency-Key header, so that a repeat of it does no harm"
        case .keyReused: "this idempotency key was used for another request"
        case .keyRunning: "a request with this idempotency key is still running"
        case .answerNotKept(let status):
            "the first request with this idempotency key was answered with \(status); its answer was too large to be kept"
        case .badWrite(let problem): problem
        case .journalUnavailable: "writes cannot be made durable at the moment; nothing was changed"
        case .laneBusy:
            "an earlier write to the same record has not reached the backend yet; try again with the same key"
        case .tunnelsBusy: "there are as many tunnels as may be"
        }
    }

    /// Seconds for `Retry-After`; nil where trying again is no use.
    var retryAfter: Int? {
        switch self {
        case .keyRunning, .journalUnavailable, .laneBusy: 1
        case .upstream(.exhausted), .tunnelsBusy: 1
        default: nil
        }
    }

    /// `WWW-Authenticate`, which a 401 must carry (RFC 9110 §11.6.1; the words of RFC 6750 §3.1).
    var challenge: StaticString? {
        if case .unauthorized = self { "Bearer error=\"invalid_token\"" } else { nil }
    }

    /// Members of the problem beyond those of RFC 9457.
    var extraMembers: String {
        if case .answerNotKept(let status) = self { return ",\"first_status\":\(status)" }
        guard case .staleRevision(let items, let isBatch) = self, let first = items.first else { return "" }
        var text =
            ",\"current_revision\":\(first.current),\"received_revision\":\(first.received),\"action\":\"refresh\""
        if isBatch {
            text += ",\"items\":["
            text += items.map {
                "{\"record\":\(jsonString($0.record)),\"current_revision\":\($0.current),\"received_revision\":\($0.received)}"
            }.joined(separator: ",")
            text += "]"
        }
        return text
    }
}

extension OwnAnswer {
    /// The body of the answer: a problem document (RFC 9457) with the request's id.
    func body(requestID: String) -> String {
        "{\"type\":\"urn:cutover:problem/\(kind)\",\"title\":\(jsonString("\(StatusText.reason(status))")),\"status\":\(status),"
            + "\"detail\":\(jsonString(detail)),\"request_id\":\(jsonString(requestID))\(extraMembers)}\n"
    }
}
