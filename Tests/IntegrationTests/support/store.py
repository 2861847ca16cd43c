"""A backend that keeps records: `/changes` with revisions and idempotency keys, and plain `PUT`, `GET`, `DELETE`."""

import json
import threading

from .backend import Backend, reply


class RecordingStore(Backend):
    """Applies changes once per idempotency key and never backwards in revision.

    `applied` lists (record, revision or body) in the order of application. A test may set `refuse` to a function from
    request to bytes or None, which is asked before anything else.
    """

    def __init__(self):
        self.records, self.documents, self.answers = {}, {}, {}
        self.applied = []
        self.refuse = lambda request: None
        self._state = threading.Lock()
        super().__init__(self._handle)

    def _handle(self, request):
        refusal = self.refuse(request)
        if refusal is not None:
            return refusal
        with self._state:
            if request.method in ("GET", "HEAD"):
                return self._read_record(request)
            key = request["Idempotency-Key"]
            if key in self.answers:
                return self.answers[key]
            try:
                answer = self._write(request)
            except (ValueError, KeyError, TypeError) as error:
                return reply(json.dumps({"title": repr(error)}).encode(), 400)
            if key and answer.startswith(b"HTTP/1.1 2"):
                self.answers[key] = answer
            return answer

    def _read_record(self, request):
        path = request.target.split("?")[0]
        if path.startswith("/records/"):
            found = self.records.get(path.removeprefix("/records/"))
        else:
            found = self.documents.get(path)
        if found is None:
            return reply(b'{"title":"no such record"}', 404)
        body = found if isinstance(found, bytes) else json.dumps(found).encode()
        return reply(body)

    def _write(self, request):
        if request.target in ("/changes", "/changes/batch"):
            return self._apply_changes(json.loads(request.body))
        path = request.target.split("?")[0]
        if request.method == "DELETE":
            known = self.documents.pop(path, None) is not None
            self.applied.append((path, None))
            return reply(b"", 204, kind=None) if known else reply(b"{}", 404)
        self.documents[path] = request.body
        self.applied.append((path, request.body))
        return reply(b'{"stored":true}', 200)

    def _apply_changes(self, message):
        changes = message["changes"] if "changes" in message else [message]
        for change in changes:
            current = self.records.get(change["recordId"])
            if current and change["revision"] <= current["revision"]:
                body = {"current_revision": current["revision"], "record": current}
                return reply(json.dumps(body).encode(), 409)
        for change in changes:
            self.records[change["recordId"]] = change
            self.applied.append((change["recordId"], change["revision"]))
        return reply(json.dumps({"applied": len(changes)}).encode(), 200)


def change(user, record, revision, text="text", key=None):
    """The body of `POST /changes`."""
    body = {
        "userId": user, "recordId": record, "revision": revision, "type": "note", "payload": {"text": text},
        "idempotencyKey": key or f"{user}-{record}-{revision}",
    }
    return json.dumps(body).encode()


# The routes of the contract's example, for tests of writes.
CHANGE_ROUTES = [
    {"match": "POST /changes", "kind": "write", "user": "/userId", "record": "/recordId", "revision": "/revision",
     "idempotency_key": "/idempotencyKey"},
    {"match": "POST /changes/batch", "kind": "write", "user": "/userId", "items": "/changes", "record": "/recordId",
     "revision": "/revision", "idempotency_key": "/batchKey"},
    {"match": "PUT /notes/{record}", "kind": "write"},
    {"match": "DELETE /notes/{record}", "kind": "write"},
]
