internal import CLinux
internal import Gateway
internal import Journal
internal import Routing
internal import SyncStore
internal import Values

/// `PUT|GET|HEAD|DELETE /objects/{key}`: page snapshots and attachments, beside the records.
extension SyncDesk {
    func object(_ request: ServiceRequest, _ turn: Turn) async throws(BadRequest) -> ServiceResponse {
        guard let key = ObjectKey(PercentCoding.decoded(request.path.dropFirst("/objects/".count))) else {
            throw BadRequest(
                text:
                    "a key has 1 to \(ObjectKey.bytesMax) bytes; its parts, between slashes, are not empty and not . or .."
            )
        }
        switch request.method {
        case "GET", "HEAD":
            return finish(await use(turn) { store throws(ObjectFailure) in try store.get(key) }, turn) { object in
                guard let object else { return Answer.problem(404, "there is no object of this key", id: turn.id) }
                var answer = ServiceResponse(status: 200, headers: [("Content-Type", object.type)], body: object.bytes)
                answer.headers.append(("ETag", object.etag))
                return answer
            }
        case "PUT":
            let type = request.header("content-type") ?? "application/octet-stream"
            guard type.utf8.count <= 200 else { throw BadRequest(text: "the content type is too long") }
            let object = StoredObject(type: type, bytes: request.body)
            return finish(await use(turn) { store throws(ObjectFailure) in try store.put(object, as: key) }, turn) {
                _ in
                ServiceResponse(status: 204, headers: [("ETag", object.etag)])
            }
        case "DELETE":
            return finish(await use(turn) { store throws(ObjectFailure) in try store.delete(key) }, turn) { _ in
                // What is not there is deleted: asked twice, it answers the same.
                ServiceResponse(status: 204)
            }
        default: return notAllowed("GET, HEAD, PUT, DELETE", turn)
        }
    }

    private func use<Value: Sendable>(
        _ turn: Turn, _ body: @escaping @Sendable (any ObjectStoring) throws(ObjectFailure) -> Value
    ) async -> Result<Value, ObjectFailure> {
        let began = clinux_monotonic_nanoseconds()
        let result: Result<Value, ObjectFailure> = await withCheckedContinuation { continuation in
            objects.perform { store in
                guard let store else {
                    return continuation.resume(returning: .failure(ObjectFailure(text: "too many objects wait")))
                }
                do throws(ObjectFailure) { continuation.resume(returning: .success(try body(store))) } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        turn.storeNanoseconds += clinux_monotonic_nanoseconds() - began
        return result
    }

    private func finish<Value>(
        _ result: Result<Value, ObjectFailure>, _ turn: Turn, _ body: (Value) -> ServiceResponse
    ) -> ServiceResponse {
        switch result {
        case .success(let value): return body(value)
        case .failure(let failure):
            return Answer.unavailable(JournalError(.other, failure.text), id: turn.id)
        }
    }
}
