"""A collector of spans: what it is sent is read by OpenTelemetry's own definitions (PyPI `opentelemetry-proto`).

They live in build/venv (`scripts/setup test`).
"""

import base64
import json

from . import pypi  # noqa: F401 first: what follows is there through it
from .backend import Backend, reply

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

IDS = ("traceId", "spanId", "parentSpanId")


class Collector(Backend):
    """Takes spans; `self.answer` may be scripted as that of any backend."""

    def __init__(self):
        super().__init__(lambda request: reply(b"{}"))

    @property
    def endpoint(self):
        return self.url + "/v1/traces"

    def spans(self):
        """All spans that have arrived, as dictionaries with their attributes as `attributes`."""
        return [span for request in list(self.requests) for span in spans_of(request)]


def spans_of(request):
    assert (request.method, request.target) == ("POST", "/v1/traces")
    assert request["Content-Type"] == "application/json"
    document = json.loads(request.body)
    found = []
    for resource in document["resourceSpans"]:
        named = {pair["key"]: pair["value"]["stringValue"] for pair in resource["resource"]["attributes"]}
        assert named["service.name"] == "cutover" and named["service.instance.id"]
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in IDS:
                    # OTLP's JSON has ids in hexadecimal, where that of Protobuf has Base64.
                    assert key not in span or int(span[key], 16)
                    assert len(span.get(key, "0" * 16)) == (32 if key == "traceId" else 16)
                found.append(span)
    parsed = json_format.ParseDict(_with_base64(document), ExportTraceServiceRequest())
    flat = [span for part in parsed.resource_spans for scope in part.scope_spans for span in scope.spans]
    assert len(flat) == len(found)
    return [_plain(span, message) for span, message in zip(found, flat)]


def _with_base64(document):
    copy = json.loads(json.dumps(document))
    for resource in copy["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in IDS:
                    if key in span:
                        span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return copy


def _plain(span, message):
    """What the definitions made of a span."""
    assert message.trace_id.hex() == span["traceId"] and message.span_id.hex() == span["spanId"]
    assert message.end_time_unix_nano >= message.start_time_unix_nano > 1_700_000_000 * 10**9
    values = {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in message.attributes}
    return {
        "trace": message.trace_id.hex(), "id": message.span_id.hex(), "parent": message.parent_span_id.hex(),
        "name": message.name, "kind": {2: "server", 3: "client"}[message.kind], "flags": message.flags,
        "start": message.start_time_unix_nano, "end": message.end_time_unix_nano,
        "is_error": message.status.code == 2, "attributes": values,
    }
