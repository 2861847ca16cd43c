/// Keys that are not known, are missing, or hold the wrong kind of thing.
let badKeys: [BadInput] = [
    BadInput(
        "lisen: 127.0.0.1:1",
        "cutover.yaml:1: lisen: unknown key \"lisen\"; accepted: listen, admin, data, store, workers, user, trusted_proxies, backends, timeouts, limits, routes, shadow, writes, fallback, plan, expose, tracing, access_log; did you mean listen?"
    ),
    BadInput(
        "zzz: 1",
        "cutover.yaml:1: zzz: unknown key \"zzz\"; accepted: listen, admin, data, store, workers, user, trusted_proxies, backends, timeouts, limits, routes, shadow, writes, fallback, plan, expose, tracing, access_log"
    ),
    BadInput(
        "Timeouts: {head: 1s}",
        "cutover.yaml:1: Timeouts: unknown key \"Timeouts\"; accepted: listen, admin, data, store, workers, user, trusted_proxies, backends, timeouts, limits, routes, shadow, writes, fallback, plan, expose, tracing, access_log; did you mean timeouts?"
    ),
    BadInput(
        "timeouts: {hed: 1s}",
        "cutover.yaml:1: timeouts.hed: unknown key \"hed\"; accepted: client_idle, head, body, drain; did you mean head?"
    ),
    BadInput(
        "timeouts:\n  head: 1s\n  drian: 2s",
        "cutover.yaml:3: timeouts.drian: unknown key \"drian\"; accepted: client_idle, head, body, drain; did you mean drain?"
    ),
    BadInput(
        "shadow: {precent: 1}",
        "cutover.yaml:1: shadow.precent: unknown key \"precent\"; accepted: percent, ignore, unordered, headers, body_max, in_flight_max, recheck_after, keep_values; did you mean percent?"
    ),
    BadInput(
        "migration: {source: 1}\nbackup: {}",
        "cutover.yaml:1: migration: not supported by this version",
        "cutover.yaml:2: backup: not supported by this version"),
    BadInput(
        "alerts: {}",
        "cutover.yaml:1: alerts: unknown key \"alerts\"; accepted: listen, admin, data, store, workers, user, trusted_proxies, backends, timeouts, limits, routes, shadow, writes, fallback, plan, expose, tracing, access_log"
    ),
    BadInput(
        "timeouts: 5",
        "cutover.yaml:1: timeouts: a single value where a mapping is expected; accepted: client_idle, head, body, drain"
    ),
    BadInput(
        "routes: {match: x}",
        "cutover.yaml:1: routes: a mapping where a list is expected; accepted: mappings with match and kind"),
    BadInput(
        "limits: [1]",
        "cutover.yaml:1: limits: a list where a mapping is expected; accepted: target, header_line, headers, header_lines, connections, connections_per_address, tunnels"
    ),
    BadInput(
        "plan: {name: x}",
        "cutover.yaml:1: plan: a mapping where a single value is expected; accepted: text that is not empty"),
    BadInput(
        "plan: [a]",
        "cutover.yaml:1: plan: a list where a single value is expected; accepted: text that is not empty"),
    BadInput(
        "salt: s3cret",
        "cutover.yaml:1: salt: unknown key \"salt\"; accepted: listen, admin, data, store, workers, user, trusted_proxies, backends, timeouts, limits, routes, shadow, writes, fallback, plan, expose, tracing, access_log; did you mean user.salt?"
    ),
    BadInput(
        "writes: {password: hunter2}",
        "cutover.yaml:1: writes.password: unknown key \"[redacted]\"; accepted: body_max, retry_min, retry_max, answer, idempotency_retention"
    ),
    BadInput(
        "backend: {}",
        "cutover.yaml:1: backend: unknown key \"backend\"; accepted: listen, admin, data, store, workers, user, trusted_proxies, backends, timeouts, limits, routes, shadow, writes, fallback, plan, expose, tracing, access_log; did you mean backends?"
    ),
]
