import COpenSSL
import Telemetry

/// Why a TLS handshake came to nothing.
struct TLSFailure: Error {
    let reason: TLSFailureReason
    /// In words, for the log: never for the other side.
    let detail: String
    /// The client spoke HTTP without TLS.
    var isPlainHTTP = false
    /// The peer refused the certificate of this side, or misses it.
    var isRefusedCertificate = false

    init(_ reason: TLSFailureReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }

    /// A handshake that the connection gave up.
    init(_ failure: IOFailure) {
        switch failure {
        case .timeout: self.init(.timeout, "the handshake was not done in time")
        case .closed, .reset, .aborted, .refused: self.init(.closed, "the connection was closed")
        }
    }

    /// What OpenSSL has noted, which is forgotten with that.
    static func taken(from ssl: OpaquePointer) -> TLSFailure {
        let error = ERR_peek_error()
        ERR_clear_error()
        let code = ctls_reason(error)
        if code == SSL_R_CERTIFICATE_VERIFY_FAILED { return unverified(SSL_get_verify_result(ssl)) }
        var failure = TLSFailure(reason(code), text(of: error))
        failure.isPlainHTTP = code == SSL_R_HTTP_REQUEST
        failure.isRefusedCertificate = refusals.contains(code - SSL_AD_REASON_OFFSET)
        return failure
    }

    /// The text that OpenSSL has for an error, without its numbers.
    static func text(of error: UInt) -> String {
        ERR_reason_error_string(error).map { String(cString: $0) } ?? "error \(error)"
    }

    private static func unverified(_ result: Int) -> TLSFailure {
        let reason: TLSFailureReason =
            switch Int32(truncatingIfNeeded: result) {
            case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID: .expired
            case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .name
            case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
                X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
                .untrusted
            default: .certificate
            }
        return TLSFailure(reason, X509_verify_cert_error_string(result).map { String(cString: $0) } ?? "not verified")
    }

    private static func reason(_ code: Int32) -> TLSFailureReason {
        switch code {
        case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_WRONG_VERSION_NUMBER, SSL_R_RECORD_LENGTH_MISMATCH,
            SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_BAD_RECORD_TYPE, SSL_R_UNEXPECTED_MESSAGE, SSL_R_LENGTH_TOO_SHORT,
            SSL_R_LENGTH_MISMATCH, SSL_R_RECORD_TOO_SMALL, SSL_R_ENCRYPTED_LENGTH_TOO_LONG:
            .notTLS
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_VERSION_TOO_HIGH, SSL_R_NO_SHARED_CIPHER,
            SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_NO_APPLICATION_PROTOCOL, SSL_R_NO_SUITABLE_KEY_SHARE,
            SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_INAPPROPRIATE_FALLBACK, SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
            .protocol
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, SSL_R_EE_KEY_TOO_SMALL, SSL_R_CA_KEY_TOO_SMALL,
            SSL_R_CA_MD_TOO_WEAK, SSL_R_DH_KEY_TOO_SMALL:
            .certificate
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, SSL_R_TLSV1_ALERT_INSUFFICIENT_SECURITY,
            SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
            .protocol
        default: code >= SSL_AD_REASON_OFFSET ? .alert : .other
        }
    }

    /// Alerts about the certificate of this side (RFC 8446 §6.2).
    private static let refusals: Set<Int32> = [
        SSL_AD_BAD_CERTIFICATE, SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_REVOKED, SSL_AD_CERTIFICATE_EXPIRED,
        SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA, SSL_AD_ACCESS_DENIED, SSL_AD_CERTIFICATE_REQUIRED,
    ]
}
