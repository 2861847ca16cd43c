"""The sync service with its objects in an S3-compatible store."""

import http.client
import http.server
import random
import re
import subprocess
import threading

import pytest

from support.pypi import VENV  # first: what follows is there through it
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from support.sync import SyncService

KEY_ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@pytest.fixture(scope="module")
def bucket_store():
    """moto, as a server of its own, with one bucket: (host and port)."""
    command = [VENV.parents[2] / "bin" / "moto_server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            found = re.search(r"http://(127\.0\.0\.1:\d+)", line)
            if found:
                break
        else:
            raise AssertionError("moto did not start")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        connection = http.client.HTTPConnection(found.group(1))
        connection.request("PUT", "/attachments")
        assert connection.getresponse().status == 200
        yield found.group(1)
        process.terminate()


@pytest.fixture
def credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


@pytest.mark.parametrize("key", ["a", "a/b", "snapshots/%C3%BC%20x%2B.html"])
def test_objects_are_kept_in_the_bucket(scratch, bucket_store, credentials, key):
    service = SyncService(scratch, "--objects", f"s3://attachments/pre%20fix?endpoint=http://{bucket_store}")
    content = random.Random(key).randbytes(200_000)
    assert service.get(f"/objects/{key}")[0] == 404
    assert service.ask("PUT", f"/objects/{key}", content, {"Content-Type": "text/html"})[0] == 204
    status, headers, body = service.get(f"/objects/{key}")
    assert status == 200 and body == content and headers["Content-Type"] == "text/html"
    connection = http.client.HTTPConnection(bucket_store)
    # moto shows a private object to whoever names himself.
    name = f"AWS4-HMAC-SHA256 Credential={KEY_ID}/20260101/us-east-1/s3/aws4_request"
    connection.request("GET", f"/attachments/pre%20fix/{key}", headers={"Authorization": name})
    assert connection.getresponse().read() == content, "under the key's own name"
    assert service.ask("DELETE", f"/objects/{key}")[0] == 204
    assert service.get(f"/objects/{key}")[0] == 404
    service.stop()


def test_a_bucket_that_is_not_there_is_a_failure_and_no_missing_object(scratch, bucket_store, credentials):
    service = SyncService(scratch, "--objects", f"s3://nobodys?endpoint=http://{bucket_store}")
    assert service.get("/objects/a")[0] == 503
    assert service.ask("PUT", "/objects/a", b"x")[0] == 503
    service.stop()


def test_a_store_that_does_not_answer_is_a_failure(scratch, credentials):
    service = SyncService(scratch, "--objects", "s3://attachments?endpoint=http://127.0.0.1:9")
    status, _, problem = service.get("/objects/a")
    assert status == 503 and "does not answer" in problem["detail"]
    service.stop()


def test_without_credentials_it_does_not_start(scratch, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    with pytest.raises(AssertionError, match="AWS_ACCESS_KEY_ID"):
        SyncService(scratch, "--objects", "s3://attachments")


class _Recorder(http.server.BaseHTTPRequestHandler):
    """Keeps every request and answers 200."""

    def _keep(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_PUT = do_DELETE = _keep

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


def test_requests_are_signed_as_botocore_signs_them(scratch, credentials):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Recorder) as server:
        server.seen = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        service = SyncService(scratch, "--objects", f"s3://my-bucket/a%20b?endpoint=http://{address}&region=eu-west-3")
        service.ask("PUT", "/objects/x%20y/%C3%BC+~.html", b"content", {"Content-Type": "text/html; charset=utf-8"})
        service.get("/objects/x%20y/%C3%BC+~.html")
        service.ask("DELETE", "/objects/z")
        service.stop()
        server.shutdown()
    assert [method for method, *_ in server.seen] == ["PUT", "GET", "DELETE"]
    for method, path, headers, body in server.seen:
        lower = {name.lower(): value for name, value in headers.items()}
        signed = re.search(r"SignedHeaders=([^,]+)", lower["authorization"]).group(1).split(";")
        request = AWSRequest(method, f"http://{address}{path}", {name: lower[name] for name in signed}, body)
        request.context["timestamp"] = lower["x-amz-date"]
        signer = S3SigV4Auth(Credentials(KEY_ID, SECRET), "s3", "eu-west-3")
        text = signer.string_to_sign(request, signer.canonical_request(request))
        assert lower["authorization"].endswith("Signature=" + signer.signature(text, request)), (method, path)
