"""User ids that can be trusted: tokens and cookies that somebody else has signed, and peers whose word counts."""

import base64
import hashlib
import hmac
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from support.gateway import cutover, merged
from support.waiting import eventually
from support.wire import chunked_bytes, request_bytes

SECRET = b"0123456789abcdef0123456789ABCDEF"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def public_jwk(key, **more):
    kind = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    if kind is RSAAlgorithm:
        return {**json.loads(kind.to_jwk(key.public_key())), **more}
    numbers = key.public_key().public_numbers()
    x, y = (encoded(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
    return {"kty": "EC", "crv": "P-256", "x": x, "y": y, **more}


KEYS = {"keys": [
    {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": "other"},
    public_jwk(RSA_KEY, kid="rsa", use="sig", alg="RS256"), public_jwk(EC_KEY, kid="ec"),
    {"kty": "oct", "k": encoded(SECRET), "kid": "oct"},
]}
CLAIMS = {"iss": "https://id.example", "aud": ["notes", "files"]}
REASONS = ["malformed", "algorithm", "unknown_key", "signature", "issuer", "audience", "not_yet_valid", "expired"]


def bearer(key, algorithm, kid=None, headers=None, **claims):
    claims = {"sub": "ada", "exp": int(time.time()) + 600, **CLAIMS, **claims}
    claims = {name: value for name, value in claims.items() if value is not None}
    headers = {**({"kid": kid} if kid else {}), **(headers or {})}
    return [("Authorization", "Bearer " + jwt.encode(claims, key, algorithm=algorithm, headers=headers))]


def cookie(text, secret=SECRET, name="uid"):
    return [("Cookie", f"{name}={text}.{encoded(hmac.digest(secret, f'{name}={text}'.encode(), 'sha256'))}")]


@pytest.fixture
def with_keys(make_gateway, legacy, new, scratch):
    """A gateway that knows ada, on new, by tokens of a JWK Set; a plain header comes second."""
    (scratch / "keys.json").write_text(json.dumps(KEYS))

    def make(unverifiable="anonymous", **more):
        token = {"jwks_file": str(scratch / "keys.json"), "issuer": "https://id.example", "audience": "notes",
                 "leeway": "5s", **more}
        user = {"from": [{"jwt": token}, {"header": "X-User-Id"}], "unverifiable": unverifiable}
        gateway = make_gateway(legacy, new, config={"user": user})
        gateway.pin("ada", "new")
        gateway.pin("eve", "new")
        return gateway

    return make


def rejected(gateway):
    metrics = gateway.metrics()
    return {reason: metrics("cutover_identity_rejected_total", reason=reason) for reason in REASONS
            if metrics("cutover_identity_rejected_total", reason=reason)}


@pytest.mark.parametrize(("key", "algorithm", "kid"), [
    (RSA_KEY, "RS256", "rsa"), (EC_KEY, "ES256", "ec"), (SECRET, "HS256", "oct"), (RSA_KEY, "RS256", None),
    (EC_KEY, "ES256", None), (SECRET, "HS256", None),
])
def test_tokens_of_the_set_name_the_user(with_keys, legacy, key, algorithm, kid):
    gateway = with_keys("401")
    for _ in range(3):
        answer = gateway.get("/", headers=bearer(key, algorithm, kid))
        assert (answer.status, answer.backend, answer.why) == (200, "new", "pinned-new")
    assert gateway.get("/", headers=bearer(key, algorithm, kid, sub="bob")).why == "outside-percent"
    assert rejected(gateway) == {} and len(legacy.requests) == 1


def hostile_tokens():
    now = int(time.time())
    public = EC_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = {"sub": "ada", "exp": now + 600, **CLAIMS}
    confused = jwt.encode(claims, hashlib.sha256(public).digest(), algorithm="HS256")
    head, body, _ = confused.split(".")
    forged = encoded(hmac.digest(public, f"{head}.{body}".encode(), "sha256"))
    deep = encoded(b'{"alg":' + b"[" * 2000 + b"]" * 2000 + b"}")
    brought = {"jwk": public_jwk(OTHER_KEY), "jku": "https://attacker.example/keys"}
    raw = bearer(EC_KEY, "ES256", "ec")[0][1]
    return [
        ("none", [("Authorization", "Bearer " + jwt.encode(claims, None, algorithm="none"))], "algorithm"),
        ("confusion", [("Authorization", f"Bearer {head}.{body}.{forged}")], "signature"),
        ("own-key", bearer(OTHER_KEY, "ES256", "ec", brought), "signature"),
        ("no-such-key", bearer(OTHER_KEY, "ES256", "new"), "unknown_key"),
        ("other-algorithm", bearer(SECRET * 2, "HS512", "oct"), "algorithm"),
        ("crit", bearer(EC_KEY, "ES256", "ec", {"crit": ["b64"], "b64": False}), "malformed"),
        ("expired", bearer(EC_KEY, "ES256", "ec", exp=now - 60), "expired"),
        ("future", bearer(EC_KEY, "ES256", "ec", nbf=now + 60), "not_yet_valid"),
        ("audience", bearer(EC_KEY, "ES256", "ec", aud="else"), "audience"),
        ("issuer", bearer(EC_KEY, "ES256", "ec", iss="https://evil.example"), "issuer"),
        ("cut", [("Authorization", raw[:-2])], "signature"),
        ("long", bearer(EC_KEY, "ES256", "ec", pad="x" * 9000), "malformed"),
        ("dots", [("Authorization", "Bearer " + "." * 4000)], "malformed"),
        ("deep", [("Authorization", f"Bearer {deep}.{deep}.AAAA")], "malformed"),
        ("base64", [("Authorization", raw + "=")], "malformed"),
        ("blank", [("Authorization", "Bearer")], "malformed"),
        ("twice", bearer(EC_KEY, "ES256", "ec") * 2, "malformed"),
    ]


def test_what_does_not_verify_is_refused_and_reaches_no_backend(with_keys, legacy, new):
    gateway = with_keys("401")
    counted = {}
    for name, headers, reason in hostile_tokens():
        counted[reason] = counted.get(reason, 0) + 1
        for method, body in (("GET", None), ("POST", b"{}")):
            answer = gateway.fetch(method, "/notes/1", [*headers, ("X-User-Id", "eve"), ("X-Request-Id", "r-1")], body)
            assert answer.status == 401, name
            assert answer["WWW-Authenticate"] == 'Bearer error="invalid_token"'
            assert answer["Content-Type"] == "application/problem+json" and answer.backend is None
            problem = answer.json()
            assert problem["status"] == 401 and problem["request_id"] == "r-1" and "ada" not in json.dumps(problem)
    assert legacy.begun == [] and new.begun == []
    assert rejected(gateway) == {reason: 2 * count for reason, count in counted.items()}
    assert gateway.metrics()("cutover_requests_total", code="401") == 2 * len(hostile_tokens())
    assert "eyJ" not in gateway.log() and "ada" not in gateway.log()


def test_what_does_not_verify_is_anonymous_and_not_whom_a_header_names(with_keys, new):
    gateway = with_keys()
    for name, headers, _ in hostile_tokens():
        answer = gateway.get("/", headers=[*headers, ("X-User-Id", "eve")])
        assert (answer.status, answer.backend, answer.why) == (200, "legacy", "anonymous"), name
    assert sum(rejected(gateway).values()) == len(hostile_tokens())
    assert new.begun == []
    # Nothing offered is nothing refused.
    assert gateway.get("/", user="eve").why == "pinned-new"
    assert gateway.get("/", user="eve", headers=[("Authorization", "Basic eDp5")]).why == "pinned-new"


def test_a_connection_goes_on_after_a_refusal(with_keys, legacy):
    gateway = with_keys("401")
    bad = [("Authorization", "Bearer a.b.c")]
    with gateway.connect() as client:
        assert client.request("GET", "/", bad).status == 401
        assert client.request("GET", "/", bearer(EC_KEY, "ES256")).backend == "new"
        assert client.request("POST", "/", bad, b"{}").status == 401
    with gateway.connect() as client:
        client.send(request_bytes("POST", "/", [*bad, ("Transfer-Encoding", "chunked")]) + chunked_bytes(b"x" * 10))
        assert client.response("POST").status == 401
    assert legacy.begun == []


def test_routes_of_one_backend_ask_nobody_who_they_are(make_gateway, legacy, new, scratch):
    """Whoever holds an expired token has to reach the login to get another."""
    (scratch / "secret").write_bytes(SECRET)
    gateway = make_gateway(legacy, new, config={
        "user": {"from": [{"jwt": {"hs256_secret_file": str(scratch / "secret")}}], "unverifiable": 401},
        "routes": [{"match": "* /login", "kind": "legacy"}]})
    headers = [("Authorization", "Bearer a.b.c")]
    assert gateway.fetch("POST", "/login", headers, b"{}").status == 200
    assert gateway.fetch("POST", "/", headers, b"{}").status == 401


def test_a_token_that_has_to_expire_says_when(with_keys):
    gateway = with_keys("401", require_exp=True)
    assert gateway.get("/", headers=bearer(EC_KEY, "ES256", exp=None)).status == 401
    assert gateway.get("/", headers=bearer(EC_KEY, "ES256")).status == 200
    assert rejected(gateway) == {"malformed": 1}


def test_writes_of_a_token_are_of_its_user_to_the_end(with_keys, new):
    """The token ends while the body arrives: it is judged once."""
    gateway = with_keys("401", leeway="0s")
    headers = bearer(SECRET, "HS256", exp=int(time.time()) + 2)
    with gateway.connect() as client:
        client.send(request_bytes("PUT", "/notes/1", [*headers, ("Content-Length", "4")]))
        time.sleep(3)
        client.send(b"body")
        answer = client.response("PUT")
    assert (answer.status, answer.backend, answer.why) == (200, "new", "pinned-new")
    assert rejected(gateway) == {}
    with gateway.connect() as client:
        assert client.request("GET", "/", headers).status == 401
    assert rejected(gateway) == {"expired": 1}


def test_a_reload_reads_the_keys_again_and_forgets_what_it_verified(with_keys, scratch):
    gateway = with_keys("401")
    old, fresh = bearer(EC_KEY, "ES256", "ec"), bearer(OTHER_KEY, "ES256", "fresh")
    for _ in range(4):
        assert gateway.get("/", headers=old).status == 200
    assert gateway.get("/", headers=fresh).status == 401
    (scratch / "keys.json").write_text(json.dumps({"keys": [public_jwk(OTHER_KEY, kid="fresh")]}))
    assert gateway.admin("POST", "/api/v1/reload", {}, token=gateway.token())[0] == 200
    for _ in range(4):
        assert gateway.get("/", headers=fresh).status == 200
        assert gateway.get("/", headers=old).status == 401
    (scratch / "keys.json").write_text('{"keys":[]}')
    status, problem, _ = gateway.admin("POST", "/api/v1/reload", {}, token=gateway.token())
    assert status in (400, 409, 422) and "a JWK Set without a key" in json.dumps(problem)
    assert gateway.get("/", headers=fresh).status == 200


def test_a_token_sent_again_costs_no_second_signature(with_keys):
    gateway = with_keys()
    headers = bearer(RSA_KEY, "RS256")
    with gateway.connect() as client:
        for _ in range(20):
            assert client.request("GET", "/", headers).backend == "new"
    metrics = gateway.metrics()
    assert metrics("cutover_identity_lookups_total", result="miss") == 1
    assert metrics("cutover_identity_lookups_total", result="hit") == 19


def test_a_request_is_judged_once_whoever_wants_to_know(with_keys, legacy, new):
    """Routing, the shadow read, the journal and the access log: they share one verdict."""
    gateway = with_keys()
    gateway.stop()
    gateway.config = merged(gateway.config, {
        "access_log": {"file": "stderr", "user": "plain"}, "shadow": {"percent": 100}})
    gateway.start()
    headers = bearer(RSA_KEY, "RS256")
    with gateway.connect() as client:
        for _ in range(4):
            assert client.request("GET", "/", headers).backend == "new"
        assert client.request("PUT", "/notes/1", headers, b"{}").backend == "new"
    eventually(lambda: len(legacy.requests) == 5, "shadow reads and the second leg")
    metrics = gateway.metrics()
    assert metrics("cutover_identity_lookups_total", result="miss") == 1
    assert metrics("cutover_identity_lookups_total", result="hit") == 4
    eventually(lambda: gateway.log().count('"user":"ada"') == 5, "lines with the user")


def test_what_does_not_hold_counts_beside_a_proof_that_does(make_gateway, legacy, new, scratch):
    (scratch / "secret").write_bytes(SECRET)
    sources = [{"jwt": {"hs256_secret_file": str(scratch / "secret")}},
               {"signed_cookie": {"name": "uid", "secret_file": str(scratch / "secret")}}]
    gateway = make_gateway(legacy, new, config={"user": {"from": sources, "unverifiable": 401}})
    gateway.pin("ada", "new")
    answer = gateway.get("/", headers=bearer(SECRET, "HS256", exp=1) + cookie("ada."))
    assert (answer.status, answer.why) == (200, "pinned-new")
    assert rejected(gateway) == {"expired": 1}


def test_what_the_access_log_wants_to_know_refuses_nobody(make_gateway, legacy, new, scratch):
    (scratch / "secret").write_bytes(SECRET)
    gateway = make_gateway(legacy, new, config={
        "user": {"from": [{"jwt": {"hs256_secret_file": str(scratch / "secret")}}], "unverifiable": 401},
        "access_log": {"file": "stderr", "user": "plain"},
        "routes": [{"match": "* /login", "kind": "legacy"}]})
    assert gateway.fetch("POST", "/login", [("Authorization", "Bearer a.b.c")], b"{}").status == 200
    assert rejected(gateway) == {}


# Signed cookies

def test_signed_cookies_name_the_user(make_gateway, legacy, new, scratch):
    rotated = b"an older secret of the application, 40 B"
    (scratch / "secrets").write_bytes(SECRET + b"\n" + rotated + b"\n")
    source = {"name": "uid", "secret_file": str(scratch / "secrets"), "encoding": "percent"}
    gateway = make_gateway(legacy, new, config={
        "user": {"from": [{"signed_cookie": source}, {"cookie": "uid"}], "unverifiable": 401}})
    gateway.pin("ada löwe", "new")
    now = int(time.time())
    for good in (cookie(f"ada%20l%C3%B6we.{now + 60}"), cookie("ada%20l%C3%B6we."),
                 cookie(f"ada%20l%C3%B6we.{now + 60}", rotated)):
        assert gateway.get("/", headers=good).why == "pinned-new"
    for bad in (cookie("ada."), cookie(f"ada.{now + 60}", b"x" * 32), cookie(f"ada.{now + 60}", name="theme"),
                cookie(f"ada.{now - 60}"), [("Cookie", "uid=ada")]):
        answer = gateway.get("/", headers=bad)
        assert answer.status == (200 if bad in (cookie("ada."), cookie(f"ada.{now + 60}", name="theme")) else 401), bad
    assert rejected(gateway) == {"signature": 1, "expired": 1, "malformed": 1}
    assert gateway.get("/").why == "anonymous"


# Trusted proxies

CLAIMED = [("X-User-Id", "ada"), ("x_user_id", "ada"), ("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Proto", "https"),
           ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-User", "ada"), ("Forwarded", "for=192.0.2.1"),
           ("X-Real-IP", "192.0.2.1"), ("X-Public", "1")]
MINE = [("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-Proto", "http"), ("X-Forwarded-Host", "example.test")]


def said(request):
    names = {name.lower() for name, _ in CLAIMED} | {"x-public"}
    return sorted((name.lower(), value) for name, value in request.headers if name.lower() in names)


def test_what_a_peer_says_counts_only_from_a_trusted_one(make_gateway, legacy, new):
    cases = [(["10.0.0.0/8"], False), ([], False), (["127.0.0.0/8"], True), (["::ffff:127.0.0.1"], True),
             (["::/0"], False), (["0.0.0.0/0"], True), (None, True)]
    for proxies, is_trusted in cases:
        legacy.forget()
        new.forget()
        config = {"shadow": {"percent": 100}}
        if proxies is not None:
            config["trusted_proxies"] = proxies
        gateway = make_gateway(legacy, new, config=config)
        gateway.pin("ada", "new")
        side = new if is_trusted else legacy
        answer = gateway.get("/", headers=CLAIMED)
        assert answer.why == ("pinned-new" if is_trusted else "anonymous"), proxies
        assert gateway.fetch("PUT", "/notes/1", CLAIMED, b"x").why == answer.why
        kept = [("X-Forwarded-For", "192.0.2.1, 127.0.0.1"), *CLAIMED[:2], *CLAIMED[3:]]
        expected = sorted((name.lower(), value) for name, value in (kept if is_trusted else [*MINE, ("X-Public", "1")]))
        assert [said(request) for request in side.requests[:2]] == [expected] * 2, proxies
        # The shadow read and the second leg carry the same.
        other = legacy if is_trusted else new
        eventually(lambda: len(other.requests) >= 2, "shadow read and second leg")
        assert [said(request) for request in other.requests[:2]] == [expected] * 2, proxies
        gateway.stop()


def test_a_reload_changes_whom_an_open_connection_is_believed(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"trusted_proxies": ["127.0.0.1"]})
    gateway.pin("ada", "new")
    with gateway.connect() as client:
        assert client.request("GET", "/", user="ada").why == "pinned-new"
        gateway.config = merged(gateway.config, {"trusted_proxies": ["10.0.0.0/8"]})
        gateway.config_file.write_text(json.dumps(gateway.config))
        assert gateway.admin("POST", "/api/v1/reload", {}, token=gateway.token())[0] == 200
        eventually(lambda: client.request("GET", "/", user="ada").why == "anonymous", "the list counts")
        # After a rest too.
        time.sleep(1.5)
        assert client.request("GET", "/", user="ada").why == "anonymous"


def test_a_tunnel_carries_no_word_of_an_untrusted_peer(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"trusted_proxies": []})
    upgrade = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
               ("Sec-WebSocket-Version", "13"), *CLAIMED]
    gateway.get("/socket", headers=upgrade)
    assert said(legacy.requests[0]) == sorted((name.lower(), value) for name, value in [*MINE, ("X-Public", "1")])


# `check`

@pytest.mark.parametrize(("source", "content", "said"), [
    ({"jwt": {"jwks_file": "key"}}, '{"keys":[]}', "a JWK Set without a key; accepted: kty RSA"),
    ({"jwt": {"jwks_file": "key"}}, '{"keys":[{"kty":"OKP"}]}', "none of the 1 keys"),
    ({"jwt": {"jwks_file": "key"}}, "-----BEGIN PUBLIC KEY-----", "no JWK Set"),
    ({"jwt": {"rs256_public_key_file": "key"}}, "hunter2", "no PEM public key"),
    ({"jwt": {"hs256_secret_file": "key"}}, "hunter2", "too short"),
    ({"signed_cookie": {"name": "uid", "secret_file": "key"}}, "hunter2", "too short"),
    ({"jwt": {"jwks_file": "key"}}, None, "cannot be read (No such file or directory)"),
])
def test_check_and_serve_name_the_file_that_cannot_be_used(scratch, source, content, said):
    config = {"user": {"from": [source]}, "data": "data", "nonsense": 1,
              "backends": {side: {"url": f"http://127.0.0.1:{port}"} for side, port in (("legacy", 1), ("new", 2))}}
    (scratch / "cutover.yaml").write_text(json.dumps(config, indent=1))
    if content is not None:
        (scratch / "key").write_text(content)
    for command in ("check", "serve"):
        done = cutover(command, "--config", scratch / "cutover.yaml", check=False)
        text = done.stdout + done.stderr
        assert done.returncode == 1 and said in text and "hunter2" not in text
        line = next(line for line in text.splitlines() if said in line)
        assert line.startswith(f"{scratch}/cutover.yaml:") and "user.from[0]." in line and f"{scratch}/key" in line
        # All errors at once.
        assert "nonsense: unknown key" in text
