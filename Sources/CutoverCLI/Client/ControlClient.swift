import ControlPlane
import FoundationEssentials
import HTTPClient
import Routing
import Values

/// Talks to the admin API (contract §9). Every failure leaves it as one sentence that says what to do.
struct ControlClient: Sendable {
    let address: AdminAddress
    private let token: TokenSearch
    private let authorityFile: String?
    private let certificate: (certificateFile: String, keyFile: String)?
    private let timeoutMilliseconds: Int
    private let generation: Int?
    private let command: RefusedCommand
    private let exchange: @Sendable (HTTPRequest) throws(HTTPFailure) -> HTTPAnswer

    /// The flags of every command that asks a gateway.
    static let flags: [Flag] = [
        .value("admin", "URL", "Address of the admin API (else CUTOVER_ADMIN, else \(AdminAddress.fallback))"),
        .value("token-file", "FILE", "File of the token (else CUTOVER_TOKEN, else admin.token in the data directory)"),
        .value("data", "DIR", "Data directory of the gateway (else CUTOVER_DATA, else ./cutover-data)"),
        .value("ca-file", "FILE", "Authorities to trust for https, in PEM (else CUTOVER_CA_FILE)"),
        .value("cert-file", "FILE", "Certificate to show where the gateway asks for one, in PEM; with --key-file"),
        .value("key-file", "FILE", "Its private key, in PEM"),
        .value("timeout", "SECONDS", "How long to wait for an answer (default 10)"),
    ]

    /// The flags of every command that changes something.
    static let changeFlags: [Flag] = [
        .value("if-generation", "N", "Only if the rollout is still at this generation"),
        .value("reason", "TEXT", "Why; kept with the event"),
    ]

    init(_ invocation: Invocation) throws {
        address = try AdminAddress.find(invocation)
        timeoutMilliseconds = 1000 * (try invocation.integer("timeout", in: 1...600) ?? 10)
        generation = try invocation.integer("if-generation", in: 0...Int.max)
        token = try TokenSearch.find(invocation, for: address)
        let variable = invocation.environment["CUTOVER_CA_FILE"].flatMap { $0.isEmpty ? nil : $0 }
        authorityFile = invocation.value("ca-file") ?? variable
        switch (invocation.value("cert-file"), invocation.value("key-file")) {
        case (let certificateFile?, let keyFile?): certificate = (certificateFile, keyFile)
        case (nil, nil): certificate = nil
        default: throw invocation.usage("--cert-file and --key-file go together")
        }
        command = RefusedCommand(
            name: invocation.command.name, isForced: invocation.isSet("force"), isDryRun: invocation.isSet("dry-run"))
        exchange = invocation.surroundings.exchange
    }

    /// Reads; the path is relative to `/api/v1`, its variable parts percent-encoded.
    func get(_ path: String, query: [(name: String, value: String)] = []) throws -> APIAnswer {
        let pairs = query.map { "\($0.name)=\(PercentCoding.encoded($0.value))" }
        return try send("GET", path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")), body: nil)
    }

    /// Changes something; `members` become the JSON body.
    func change(_ method: String, _ path: String, _ members: [(String, JSONValue)]) throws -> APIAnswer {
        // A body on DELETE has no meaning of its own (RFC 9110 §9.3.5): it is sent only when it says something.
        try send(method, path, body: method == "DELETE" && members.isEmpty ? nil : .object(members))
    }

    private func send(_ method: String, _ path: String, body: JSONValue?) throws -> APIAnswer {
        var request = HTTPRequest(method: method, url: "\(address.url)/api/v1/\(path)")
        request.timeoutMilliseconds = timeoutMilliseconds
        request.authorityFile = authorityFile
        request.certificate = certificate
        request.headers.append(
            (name: "Accept", value: "application/json, application/x-ndjson, application/problem+json"))
        if case .found(let token) = token { request.headers.append((name: "Authorization", value: token.headerValue)) }
        if let generation { request.headers.append((name: "If-Match", value: "\"\(generation)\"")) }
        if let body {
            request.headers.append((name: "Content-Type", value: "application/json"))
            request.body = Array(body.text.utf8)
        }
        var answer: HTTPAnswer
        do throws(HTTPFailure) {
            answer = try exchange(request)
            if method == "GET", address.isLoopback, case .found(let token) = token, token.isFound,
                answer.status == 401 || answer.status == 429
            {
                // Reading on loopback needs no token, so an old one that lies around must not spoil it.
                request.headers.removeAll { $0.name == "Authorization" }
                answer = try exchange(request)
            }
        } catch {
            throw CommandFailure(unreachable(error))
        }
        guard (200...299).contains(answer.status) else { throw refusal(answer, generation: generation) }
        return APIAnswer(bytes: answer.body, source: address.url)
    }

    private func unreachable(_ failure: HTTPFailure) -> String {
        switch failure.kind {
        case .refused:
            "no gateway answers at \(address.url); is it running? "
                + "Start one with `cutover serve`, or say where it is with --admin"
        case .unknownHost: "the host of \(address.url) is not known; say where the gateway is with --admin"
        case .timedOut: "the gateway at \(address.url) did not answer within \(timeoutMilliseconds / 1000) s"
        case .tls:
            "no trusted connection to \(address.url): \(failure.detail); name a private authority with --ca-file, "
                + "or write http:// where the admin listener speaks no TLS"
        case .badURL: "\(address.url) is no address: \(failure.detail)"
        case .tooLarge: "the gateway at \(address.url) answered too much: \(failure.detail); ask for less with --limit"
        case .broken: "the connection to \(address.url) broke: \(failure.detail)"
        }
    }

    private func refusal(_ answer: HTTPAnswer, generation: Int?) -> CommandFailure {
        guard let problem = try? JSONDecoder().decode(Problem.self, from: Data(answer.body)) else {
            return CommandFailure(
                "\(address.url) answered \(answer.status), but not as Cutover's admin API does; check --admin")
        }
        let json = String(decoding: answer.body, as: UTF8.self)
        return CommandFailure(
            problem.sentence(status: answer.status, token: token, generation: generation, command: command), json: json)
    }
}

/// A good answer of the admin API.
struct APIAnswer: Sendable {
    let bytes: [UInt8]
    /// Who answered, for messages.
    let source: String

    /// The body as it came, for `--json`.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The body as a shape of contract §9.
    func decode<Shape: Decodable>(_ shape: Shape.Type) throws -> Shape {
        do {
            return try JSONDecoder().decode(shape, from: Data(bytes))
        } catch {
            throw CommandFailure("\(source) answered something that this version does not understand; check --admin")
        }
    }
}
