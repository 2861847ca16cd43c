/// Whole files: backends that are missing or cannot be, and many errors at once.
let badBackends: [BadInput] = [
    BadInput(
        "",
        "cutover.yaml:1: backends.legacy.url: missing; accepted: http://host[:port][/prefix], here or with --legacy",
        "cutover.yaml:1: backends.new.url: missing; accepted: http://host[:port][/prefix], here or with --new"),
    BadInput(
        "backends: {legacy: {url: \"http://a\"}}",
        "cutover.yaml:1: backends.new.url: missing; accepted: http://host[:port][/prefix], here or with --new"),
    BadInput(
        "backends: {legacy: {url: \"http://a:1\"}, new: {url: \"http://A:1/\"}}",
        "cutover.yaml:1: backends.new.url: the same backend as legacy \"http://a:1\"; accepted: the URL of another backend"
    ),
    BadInput(
        "backends: {legacy: {url: \"http://user:hunter2@a\"}, new: {url: \"https://b\", tls: {key_file: k}}}",
        "cutover.yaml:1: backends.legacy.url: a user name or password in the URL \"http://[redacted]@a\"; accepted: http://host[:port][/prefix] or https://…",
        "cutover.yaml:1: backends.new.tls.certificate_file: missing; accepted: a PEM file",
        "cutover.yaml:1: backends.new.tls.key_file: cannot be read (No such file or directory) \"k\""),
    BadInput(
        "backends: {legacy: {url: \"127.0.0.1:7001\"}, new: {url: \"htp://b\"}}",
        "cutover.yaml:1: backends.legacy.url: not a URL \"127.0.0.1:7001\"; accepted: http://host[:port][/prefix] or https://…; did you mean http://127.0.0.1:7001?",
        "cutover.yaml:1: backends.new.url: not an http or https URL \"htp://b\"; accepted: http://host[:port][/prefix] or https://…; did you mean http://b?"
    ),
    BadInput(
        "backends: {legacy: {url: \"http://a?token=hunter2\"}, new: {url: \"http://b/#x\"}}",
        "cutover.yaml:1: backends.legacy.url: a query or fragment in the URL \"http://a?[redacted]\"; accepted: http://host[:port][/prefix] or https://…",
        "cutover.yaml:1: backends.new.url: a query or fragment in the URL \"http://b/#x\"; accepted: http://host[:port][/prefix] or https://…"
    ),
    BadInput(
        "backends: {legacy: {url: \"http://a b\"}, new: {url: \"http://:80\"}}",
        "cutover.yaml:1: backends.legacy.url: characters that a URL cannot hold in \"http://a b\"; accepted: http://host[:port][/prefix] or https://…",
        "cutover.yaml:1: backends.new.url: no valid host and port in the URL \"http://:80\"; accepted: http://host[:port][/prefix] or https://…"
    ),
    BadInput(
        "backends: {legacy: {url: \"http://a:0\"}, new: {url: \"http://b:70000\"}}",
        "cutover.yaml:1: backends.legacy.url: port 0 in the URL \"http://a:0\"; accepted: a port from 1 to 65535",
        "cutover.yaml:1: backends.new.url: no valid host and port in the URL \"http://b:70000\"; accepted: http://host[:port][/prefix] or https://…"
    ),
    BadInput(
        "backends:\n  legacy: {url: http://a, timout: 1s}\n  new:\n    url: http://b\n    max_connections: 0\n    tls: {verify: false}",
        "cutover.yaml:2: backends.legacy.timout: unknown key \"timout\"; accepted: url, connect_timeout, timeout, max_connections, tls; did you mean timeout?",
        "cutover.yaml:5: backends.new.max_connections: out of range \"0\"; accepted: a whole number from 1 to 65535",
        "cutover.yaml:6: backends.new.tls: of no use with an http URL; accepted: tls beside a URL with https://"),
    BadInput(
        "backends: {legacy: {url: \"http://127.0.0.1:8080\"}, new: {url: \"http://localhost:9900\"}}",
        "cutover.yaml:1: backends.legacy.url: the gateway's own address (listen) \"http://127.0.0.1:8080\"; accepted: a URL that leads to another server",
        "cutover.yaml:1: backends.new.url: the gateway's own address (admin.listen) \"http://localhost:9900\"; accepted: a URL that leads to another server"
    ),
    BadInput(
        "backends: 1",
        "cutover.yaml:1: backends: a single value where a mapping is expected; accepted: legacy, new"),
    BadInput(
        "backend: {legacy: {url: \"http://a\"}}",
        "cutover.yaml:1: backend: unknown key \"backend\"; accepted: listen, admin, data, store, workers, user, trusted_proxies, backends, timeouts, limits, routes, shadow, writes, fallback, plan, expose, tracing, access_log; did you mean backends?"
    ),
    BadInput(
        "backends: {legacy: {ulr: \"http://a\"}, nw: {url: \"http://b\"}}",
        "cutover.yaml:1: backends.nw: unknown key \"nw\"; accepted: legacy, new; did you mean new?",
        "cutover.yaml:1: backends.legacy.ulr: unknown key \"ulr\"; accepted: url, connect_timeout, timeout, max_connections, tls; did you mean url?"
    ),
    BadInput(
        "plan: a\nbackends: {}",
        "cutover.yaml:1: plan: cannot be read (No such file or directory) \"a\"",
        "cutover.yaml:2: backends.legacy.url: missing; accepted: http://host[:port][/prefix], here or with --legacy",
        "cutover.yaml:2: backends.new.url: missing; accepted: http://host[:port][/prefix], here or with --new"),
    BadInput(
        "expose: maybe\nshadow:\n  percent: 200\n  ignore:\n    - /ok\n    - bad\ntimeouts: {head: soon, idle: 1s}\nbackends:\n  legacy: {url: ftp://x}\n",
        "cutover.yaml:1: expose: not a boolean \"maybe\"; accepted: true, false",
        "cutover.yaml:3: shadow.percent: out of range \"200\"; accepted: 0 to 100 with at most two decimals",
        "cutover.yaml:6: shadow.ignore[1]: not a JSON pointer \"bad\"; accepted: /name/name, with ~0 for ~ and ~1 for /; did you mean /bad?",
        "cutover.yaml:7: timeouts.idle: unknown key \"idle\"; accepted: client_idle, head, body, drain; did you mean client_idle?",
        "cutover.yaml:7: timeouts.head: not a duration \"soon\"; accepted: a whole number with ms, s, m, h or d, such as 250ms, 10s, 2h, 90d",
        "cutover.yaml:8: backends.new.url: missing; accepted: http://host[:port][/prefix], here or with --new",
        "cutover.yaml:9: backends.legacy.url: not an http or https URL \"ftp://x\"; accepted: http://host[:port][/prefix] or https://…"
    ),
]
