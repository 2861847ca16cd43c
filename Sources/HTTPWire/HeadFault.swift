/// Why the head of a message was refused.
package enum HeadFault: UInt8, Sendable, Equatable, CaseIterable {
    // The first line
    case badMethod, methodTooLong, badRequestLine
    case badTarget, badTargetForm, badAuthority, targetTooLong, connectUnsupported
    case badVersion, unsupportedVersion
    case badStatusLine, badStatus
    // Any line
    case bareCarriageReturn, bareLineFeed, controlCharacter
    // Field lines
    case foldedLine, missingColon, emptyFieldName, spaceBeforeColon, badFieldName
    case headerLineTooLong, headersTooLarge, tooManyHeaderLines
    // What the fields mean
    case badContentLength, repeatedContentLength, lengthAndTransferEncoding
    case badTransferEncoding, repeatedTransferEncoding, transferEncodingInHTTP10, unsupportedTransferCoding
    case missingHost, repeatedHost, badHost, hostDiffersFromTarget
    case tooManyConnectionOptions

    /// The status with which a request of this kind is answered. The gateway makes 502 of every fault in a response.
    package var status: Int {
        switch self {
        case .targetTooLong: 414
        case .headerLineTooLong, .headersTooLarge, .tooManyHeaderLines: 431
        case .methodTooLong, .connectUnsupported, .unsupportedTransferCoding: 501
        case .unsupportedVersion: 505
        default: 400
        }
    }

    /// What was wrong, in words that hold nothing of what the peer sent.
    package var text: StaticString {
        switch self {
        case .badMethod: "the method is not a token"
        case .methodTooLong: "the method is longer than any known method"
        case .badRequestLine: "the request line is not method, target and version, each separated by one space"
        case .badTarget: "the request target holds a character that must be percent-encoded"
        case .badTargetForm: "the request target is neither a path nor an http URL nor the asterisk of OPTIONS"
        case .badAuthority: "the host in the request target is not valid"
        case .targetTooLong: "the request target is too long"
        case .connectUnsupported: "CONNECT is not supported"
        case .badVersion: "the HTTP version is malformed"
        case .unsupportedVersion: "only HTTP/1.0 and HTTP/1.1 are supported"
        case .badStatusLine: "the status line is malformed"
        case .badStatus: "the status is not a number from 100 to 599"
        case .bareCarriageReturn: "a carriage return stands without its line feed"
        case .bareLineFeed: "a line feed stands without its carriage return"
        case .controlCharacter: "a control character stands in the head"
        case .foldedLine: "a header line begins with white space (line folding is obsolete)"
        case .missingColon: "a header line has no colon"
        case .emptyFieldName: "a header line has an empty name"
        case .spaceBeforeColon: "white space stands between a header name and its colon"
        case .badFieldName: "a header name is not a token"
        case .headerLineTooLong: "a header line is too long"
        case .headersTooLarge: "the headers are too large"
        case .tooManyHeaderLines: "there are too many header lines"
        case .badContentLength: "Content-Length is not a number that can be represented"
        case .repeatedContentLength: "Content-Length is given more than once"
        case .lengthAndTransferEncoding: "both Content-Length and Transfer-Encoding are given"
        case .badTransferEncoding: "Transfer-Encoding is malformed"
        case .repeatedTransferEncoding: "Transfer-Encoding is given more than once"
        case .transferEncodingInHTTP10: "Transfer-Encoding is not defined for HTTP/1.0"
        case .unsupportedTransferCoding: "the only supported transfer coding is chunked"
        case .missingHost: "Host is missing"
        case .repeatedHost: "Host is given more than once"
        case .badHost: "Host is not valid"
        case .hostDiffersFromTarget: "Host and the host in the request target differ"
        case .tooManyConnectionOptions: "Connection names too many fields"
        }
    }
}

/// What `MessageHead` found in the bytes so far.
package enum HeadOutcome: Sendable, Equatable {
    /// The head is whole; its properties are valid.
    case complete
    /// So far correct: call again with more bytes.
    case incomplete
    /// Not HTTP/1.1 as it must be; sticky until `reset()`.
    case refused(HeadFault)
}
