"""The configurations of the proxies that are measured side by side, and what the backends answer."""

ANSWER = ('{"id":4711,"title":"' + "x" * 40 + '","items":[' + ",".join(
    '{"n":%d,"text":"some words"}' % index for index in range(33)) + "]}").ljust(1024)

NGINX_POOLS = """
    upstream legacy {{ server 127.0.0.1:{legacy}; keepalive 256; keepalive_requests 10000000; }}
    upstream new {{ server 127.0.0.1:{new}; keepalive 256; keepalive_requests 10000000; }}
    split_clients "$http_x_user_id" $side {{ 50% legacy; * new; }}
    map $side $other {{ legacy new; new legacy; }}
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Request-Id $request_id;
"""
NGINX_LOCATIONS = {
    "get": "location / { proxy_pass http://$side; }",
    "shadow": "location / { mirror /mirror; mirror_request_body off; proxy_pass http://$side; }"
    " location = /mirror { internal; proxy_pass_request_body off; proxy_set_header Content-Length \"\";"
    " proxy_pass http://$other$request_uri; }",
    "write": "location / { mirror /mirror; mirror_request_body on; proxy_pass http://$side; }"
    " location = /mirror { internal; proxy_pass http://$other$request_uri; }",
    "bodies": "client_max_body_size 0; location / { proxy_buffering off; proxy_request_buffering off;"
    " proxy_pass http://$side; }",
    "bodies buffered": "client_max_body_size 0; location / { proxy_pass http://$side; }",
}
HAPROXY = """
global
    nbthread 1
    maxconn 4096
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    http-reuse always
    option forwardfor
frontend in
    bind 127.0.0.1:{port}
    acl to_new req.hdr(X-User-Id),crc32,mod(2) eq 1
    use_backend new if to_new
    default_backend legacy
backend legacy
    server legacy 127.0.0.1:{legacy}
backend new
    server new 127.0.0.1:{new}
"""


def gateway(case):
    """One worker; what is no default is what the case needs."""
    return {
        "workers": 1,
        "shadow": {"percent": 100 if case == "shadow" else 0, "in_flight_max": 1024},
        # A write is read whole, up to a limit, because it goes to both; this one is streamed to the user's side.
        "routes": [{"match": "POST /up", "kind": "split"}] if case.startswith("bodies") else [],
    }
