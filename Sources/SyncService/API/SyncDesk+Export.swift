internal import CLinux
internal import Gateway
internal import HTTPWire
internal import Journal
internal import SyncModel
internal import SyncStore
internal import Values

/// `GET /users/{id}/export`: everything that a user has, in one stream.
///
/// Limits: a page of `exportPage` records is in memory at a time. A page is read when the client has taken the one before. A record that changes meanwhile is
/// exported as it was or as it is; what is complete is told from what broke off by the end of the chunked body.
extension SyncDesk {
    private static let exportPage = 200

    func export(_ user: String, _ request: ServiceRequest, _ turn: Turn) throws(BadRequest) -> ServiceResponse {
        turn.route = "export"
        let isMarkdown: Bool
        switch Query(request.query)["format"] {
        case "markdown"?, "md"?: isMarkdown = true
        case "jsonl"?, "jsonlines"?: isMarkdown = false
        case nil: isMarkdown = (request.header("accept") ?? "").contains("text/markdown")
        case _?: throw BadRequest(text: "format must be jsonl or markdown")
        }
        let type = isMarkdown ? "text/markdown; charset=utf-8" : "application/jsonl"
        var answer = ServiceResponse(
            status: 200,
            headers: [
                ("Content-Type", type),
                ("Content-Disposition", "attachment; filename=\"export.\(isMarkdown ? "md" : "jsonl")\""),
            ])
        answer.stream = { [self] stream in await send(user, isMarkdown, stream, Turn(request)) }
        return answer
    }

    private func send(_ user: String, _ isMarkdown: Bool, _ stream: ServiceStream, _ turn: Turn) async {
        var cursor: RecordCursor? = .start
        if isMarkdown, !(await stream.send("# Export\n\n")) { return }
        while let from = cursor {
            let result = await read(turn) { reader throws(JournalError) in
                try reader.page(of: user, from: from, limit: Self.exportPage)
            }
            guard case .success(let page) = result else { return stream.abandon() }
            var piece: [UInt8] = []
            for record in page.records {
                if isMarkdown {
                    piece.append(contentsOf: markdown(record).utf8)
                } else {
                    record.write(to: &piece)
                    piece.append(text: "\n")
                }
            }
            guard await stream.send(piece) else { return }
            cursor = page.next
        }
    }
}
