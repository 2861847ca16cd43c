import Comparison
import ContentCoding
import HTTPClient

/// Something to hash or compare: the content of a file, or the answer of a URL with its content codings taken off.
struct Document: Sendable {
    /// As it was named on the command line.
    let name: String
    let bytes: [UInt8]
    /// Only of a URL.
    var status: Int?
    var contentType: String?

    /// The longest answer that is read, and the longest that decoding may make of it.
    static let maximumBytes = 256 << 20

    /// The flags of the commands that fetch documents.
    static let flags: [Flag] = [
        .value("header", "'NAME: VALUE'", "Header line to send to URLs", repeats: true),
        .value("timeout", "SECONDS", "How long to wait for a URL (default 30)"),
        .value("ca-file", "FILE", "Authorities to trust for https, in PEM"),
    ]

    /// Whether a name is fetched instead of read.
    static func isURL(_ name: String) -> Bool {
        let start = name.prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }

    /// Reads a file, standard input for `-`, or fetches a URL.
    static func load(_ name: String, _ invocation: Invocation) throws -> Document {
        guard isURL(name) else {
            do throws(FileFailure) {
                return Document(name: name, bytes: try invocation.surroundings.readFile(name))
            } catch {
                throw CommandFailure(error.message)
            }
        }
        var request = HTTPRequest(url: name)
        request.timeoutMilliseconds = 1000 * (try invocation.integer("timeout", in: 1...3600) ?? 30)
        request.maximumBytes = maximumBytes
        request.authorityFile = invocation.value("ca-file")
        request.headers = [(name: "Accept-Encoding", value: "gzip, deflate, br")] + (try headerLines(invocation))
        let answer: HTTPAnswer
        do throws(HTTPFailure) {
            answer = try invocation.surroundings.exchange(request)
        } catch {
            throw CommandFailure("cannot fetch \(printable(name)): \(error.detail)")
        }
        return Document(
            name: name, bytes: try decoded(answer, name: name), status: answer.status,
            contentType: answer.header("Content-Type"))
    }

    private static func headerLines(_ invocation: Invocation) throws -> [(name: String, value: String)] {
        try invocation.values("header").map { line in
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex,
                !line.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7F })
            else {
                throw invocation.usage("--header \"\(printable(line))\" is no header line; write it as 'Name: value'")
            }
            return (name: String(line[..<colon]), value: trimmed(line[line.index(after: colon)...]))
        }
    }

    private static func decoded(_ answer: HTTPAnswer, name: String) throws -> [UInt8] {
        let codings = answer.headers.filter { $0.name.lowercased() == "content-encoding" }.map(\.value)
        if codings.isEmpty { return answer.body }
        let joined = codings.joined(separator: ", ")
        switch answer.body.withUnsafeBufferPointer({ decodeContent($0, codings: joined, limit: maximumBytes) }) {
        case .decoded(let bytes): return bytes
        case .tooLarge: throw CommandFailure("\(printable(name)) is longer than \(maximumBytes) bytes when decoded")
        case .undecodable:
            throw CommandFailure("\(printable(name)) cannot be decoded: Content-Encoding \(printable(joined))")
        }
    }
}
