import Routing

extension AdminAPI {
    /// Bytes of a user id in a path, decoded.
    static let userMaxBytes = 1_024

    /// The user whom a segment of a path names.
    /// - Throws: what no request could carry as an id, or no store could keep.
    func userID(_ segment: Substring) throws(BadCall) -> String {
        let encoded = Array(segment.utf8)
        var decoded = encoded
        if !encoded.isEmpty {
            let count = encoded.withUnsafeBufferPointer { input in
                decoded.withUnsafeMutableBufferPointer { output in
                    guard let from = input.baseAddress, let to = output.baseAddress else { return 0 }
                    return PercentCoding.decode(from, input.count, into: to)
                }
            }
            decoded.removeSubrange(count...)
        }
        guard decoded.count <= Self.userMaxBytes else {
            throw BadCall(text: "a user id has at most \(Self.userMaxBytes) bytes")
        }
        guard let user = String(validating: decoded, as: UTF8.self) else {
            throw BadCall(text: "the user id is not UTF-8")
        }
        guard !decoded.contains(0) else { throw BadCall(text: "a user id holds no U+0000") }
        return user
    }
}
