/// The bearer token of the admin API. Its text goes into one header and nowhere else.
struct AdminToken: Sendable, CustomStringConvertible {
    private let text: String
    /// Where it was found, for messages.
    let source: String
    /// Found lying in the data directory, not given: it may be older than the gateway's.
    var isFound = false

    var headerValue: String { "Bearer \(text)" }
    var description: String { "token from \(source)" }

    /// nil when the text is no token: empty, or with characters that have no place in a header line.
    init?(_ text: String, source: String) {
        let token = trimmed(text)
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        self.text = token
        self.source = source
    }
}

/// What came of the search for a token.
enum TokenSearch: Sendable {
    case found(AdminToken)
    /// None; says where was looked, for the case that the gateway asks for one.
    case missing(String)

    /// `--token-file`, then `CUTOVER_TOKEN`, then `admin.token` in the data directory.
    ///
    /// A token that was only found lying in the data directory belongs to the gateway of this machine: it is not sent elsewhere
    /// unless the directory was named.
    static func find(_ invocation: Invocation, for address: AdminAddress) throws -> TokenSearch {
        if let file = invocation.value("token-file") {
            do throws(FileFailure) {
                let bytes = try invocation.surroundings.readFile(file)
                guard let token = AdminToken(String(decoding: bytes, as: UTF8.self), source: file) else {
                    throw FileFailure(path: file, reason: "it holds no token")
                }
                return .found(token)
            } catch {
                throw CommandFailure(error.message)
            }
        }
        if let text = invocation.environment["CUTOVER_TOKEN"], !text.isEmpty {
            guard let token = AdminToken(text, source: "CUTOVER_TOKEN") else {
                throw CommandFailure("CUTOVER_TOKEN holds no token")
            }
            return .found(token)
        }
        return inDataDirectory(invocation, for: address)
    }

    private static func inDataDirectory(_ invocation: Invocation, for address: AdminAddress) -> TokenSearch {
        let variable = invocation.environment["CUTOVER_DATA"].flatMap { $0.isEmpty ? nil : $0 }
        let named = invocation.value("data") ?? variable
        guard address.isLoopback || named != nil else {
            return .missing("none was given")
        }
        let file = (named ?? "./cutover-data") + "/admin.token"
        do throws(FileFailure) {
            let bytes = try invocation.surroundings.readFile(file)
            guard var token = AdminToken(String(decoding: bytes, as: UTF8.self), source: file) else {
                return .missing("\(file) holds none")
            }
            token.isFound = true
            return .found(token)
        } catch {
            return .missing(error.message)
        }
    }
}
