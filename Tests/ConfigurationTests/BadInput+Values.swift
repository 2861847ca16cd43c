/// Values that are not of their type, or out of range.
let badValues: [BadInput] = [
    BadInput(
        "timeouts:\n  head: 10 sec",
        "cutover.yaml:2: timeouts.head: not a duration \"10 sec\"; accepted: a whole number with ms, s, m, h or d, such as 250ms, 10s, 2h, 90d; did you mean 10s?"
    ),
    BadInput(
        "timeouts: {head: 10}",
        "cutover.yaml:1: timeouts.head: a duration without its unit \"10\"; accepted: 10ms or 10s, or with m, h or d"
    ),
    BadInput(
        "timeouts: {head: 0s}",
        "cutover.yaml:1: timeouts.head: out of range \"0s\"; accepted: 1ms to 3650d"),
    BadInput(
        "timeouts: {head: -1s}",
        "cutover.yaml:1: timeouts.head: not a duration \"-1s\"; accepted: a whole number with ms, s, m, h or d, such as 250ms, 10s, 2h, 90d"
    ),
    BadInput(
        "timeouts: {head: 1.5s}",
        "cutover.yaml:1: timeouts.head: not a duration \"1.5s\"; accepted: a whole number with ms, s, m, h or d, such as 250ms, 10s, 2h, 90d"
    ),
    BadInput(
        "timeouts: {head: 99999999999999999999s}",
        "cutover.yaml:1: timeouts.head: not a duration \"99999999999999999999s\"; accepted: a whole number with ms, s, m, h or d, such as 250ms, 10s, 2h, 90d"
    ),
    BadInput(
        "timeouts: {head: 4000d}",
        "cutover.yaml:1: timeouts.head: out of range \"4000d\"; accepted: at most 3650d"),
    BadInput(
        "timeouts: {head: }",
        "cutover.yaml:1: timeouts.head: no value; accepted: a whole number with ms, s, m, h or d, such as 250ms, 10s, 2h, 90d"
    ),
    BadInput(
        "timeouts: {head: [1s]}",
        "cutover.yaml:1: timeouts.head: a list where a single value is expected; accepted: a whole number with ms, s, m, h or d, such as 250ms, 10s, 2h, 90d"
    ),
    BadInput(
        "limits: {target: 8KB}",
        "cutover.yaml:1: limits.target: not a size \"8KB\"; accepted: a whole number of bytes or one with KiB, MiB or GiB, such as 1024, 64KiB, 8MiB; did you mean 8KiB?"
    ),
    BadInput(
        "limits: {target: 1}",
        "cutover.yaml:1: limits.target: out of range \"1\"; accepted: 64 to 1MiB"),
    BadInput(
        "limits: {target: 65536KiB}",
        "cutover.yaml:1: limits.target: out of range \"65536KiB\"; accepted: 64 to 1MiB"),
    BadInput(
        "limits: {headers: 1KiB}",
        "cutover.yaml:1: limits.headers: target (8KiB) is above headers (1KiB); accepted: target up to the size of headers"
    ),
    BadInput(
        "limits: {connections_per_address: -1}",
        "cutover.yaml:1: limits.connections_per_address: not a whole number \"-1\"; accepted: a whole number from 0 to 10000000"
    ),
    BadInput(
        "listen:\n  - {address: 127.0.0.1:80, connections: many}",
        "cutover.yaml:2: listen[0].connections: not a whole number \"many\"; accepted: a whole number from 0 to 10000000"
    ),
    BadInput(
        "limits: {header_lines: \"200\"}",
        "cutover.yaml:1: limits.header_lines: a quoted string is no number or boolean \"200\"; accepted: a whole number from 1 to 10000; did you mean 200 without quotes?"
    ),
    BadInput(
        "limits: {header_lines: many}",
        "cutover.yaml:1: limits.header_lines: not a whole number \"many\"; accepted: a whole number from 1 to 10000"),
    BadInput(
        "limits: {header_lines: 0}",
        "cutover.yaml:1: limits.header_lines: out of range \"0\"; accepted: a whole number from 1 to 10000"),
    BadInput(
        "shadow: {percent: 101}",
        "cutover.yaml:1: shadow.percent: out of range \"101\"; accepted: 0 to 100 with at most two decimals"),
    BadInput(
        "shadow: {percent: 1.005}",
        "cutover.yaml:1: shadow.percent: not a percentage \"1.005\"; accepted: 0 to 100 with at most two decimals"),
    BadInput(
        "shadow: {percent: 1e1}",
        "cutover.yaml:1: shadow.percent: not a percentage \"1e1\"; accepted: 0 to 100 with at most two decimals"),
    BadInput(
        "shadow: {percent: \"50\"}",
        "cutover.yaml:1: shadow.percent: a quoted string is no number or boolean \"50\"; accepted: 0 to 100 with at most two decimals; did you mean 50 without quotes?"
    ),
    BadInput(
        "shadow: {ignore: [serverTime, /a~2]}",
        "cutover.yaml:1: shadow.ignore[0]: not a JSON pointer \"serverTime\"; accepted: /name/name, with ~0 for ~ and ~1 for /; did you mean /serverTime?",
        "cutover.yaml:1: shadow.ignore[1]: not a JSON pointer \"/a~2\"; accepted: /name/name, with ~0 for ~ and ~1 for /"
    ),
    BadInput(
        "shadow: {ignore: /serverTime}",
        "cutover.yaml:1: shadow.ignore: a single value where a list is expected; accepted: JSON pointers, such as /serverTime or /items/*/seen"
    ),
    BadInput(
        "shadow: {headers: [\"a b\"]}",
        "cutover.yaml:1: shadow.headers[0]: not a valid name \"a b\"; accepted: letters, digits and !#$%&'*+-.^_`|~, such as X-User-Id"
    ),
    BadInput(
        "shadow: {keep_values: yes}",
        "cutover.yaml:1: shadow.keep_values: not a boolean \"yes\"; accepted: true, false; did you mean true?"),
    BadInput(
        "expose: \"false\"",
        "cutover.yaml:1: expose: a quoted string is no number or boolean \"false\"; accepted: true, false; did you mean false without quotes?"
    ),
    BadInput(
        "expose: flase",
        "cutover.yaml:1: expose: not a boolean \"flase\"; accepted: true, false; did you mean false?"),
    BadInput(
        "writes: {answer: bth}",
        "cutover.yaml:1: writes.answer: unknown word \"bth\"; accepted: authoritative, both; did you mean both?"),
    BadInput(
        "writes: {retry_min: 1m}",
        "cutover.yaml:1: writes.retry_min: longer than retry_max (30s) \"1m\"; accepted: up to 30s"),
    BadInput(
        "writes: {retry_max: 10ms}",
        "cutover.yaml:1: writes.retry_max: shorter than retry_min (100ms) \"10ms\"; accepted: from 100ms"),
    BadInput(
        "fallback: {on: [conect, 5XX]}",
        "cutover.yaml:1: fallback.on[0]: unknown word \"conect\"; accepted: connect, timeout, 5xx, 404; did you mean connect?",
        "cutover.yaml:1: fallback.on[1]: unknown word \"5XX\"; accepted: connect, timeout, 5xx, 404; did you mean 5xx?"),
    BadInput(
        "fallback: {breaker: {errors: 0.5}}",
        "cutover.yaml:1: fallback.breaker.errors: a share without % \"0.5\"; accepted: 0% to 100% with at most four decimals, such as 0.5%; did you mean 50%?"
    ),
    BadInput(
        "fallback: {breaker: {errors: 0%}}",
        "cutover.yaml:1: fallback.breaker.errors: out of range \"0%\"; accepted: above 0%, at most 100%"),
    BadInput(
        "fallback: {breaker: {errors: 101%}}",
        "cutover.yaml:1: fallback.breaker.errors: out of range \"101%\"; accepted: 0% to 100% with at most four decimals, such as 0.5%"
    ),
    BadInput(
        "workers: 0",
        "cutover.yaml:1: workers: not a number of workers \"0\"; accepted: auto, or a whole number from 1 to 256"),
    BadInput(
        "workers: atuo",
        "cutover.yaml:1: workers: not a number of workers \"atuo\"; accepted: auto, or a whole number from 1 to 256; did you mean auto?"
    ),
    BadInput(
        "store: sqlit",
        "cutover.yaml:1: store: unknown store \"sqlit\"; accepted: sqlite, postgresql://user@host/db; did you mean sqlite?"
    ),
    BadInput(
        "store: postgresql://u:hunter2@host/db",
        "cutover.yaml:1: store: a password in the URL \"postgresql://[redacted]@host/db\"; accepted: sqlite, postgresql://user@host/db with the password in PGPASSWORD"
    ),
    BadInput(
        "listen: 8080",
        "cutover.yaml:1: listen: an address without its host \"8080\"; accepted: host:port, such as 127.0.0.1:8080 or [::1]:8080; did you mean 127.0.0.1:8080?"
    ),
    BadInput(
        "listen: 127.0.0.1",
        "cutover.yaml:1: listen: an address without its port \"127.0.0.1\"; accepted: host:port, such as 127.0.0.1:8080 or [::1]:8080; did you mean 127.0.0.1:8080?"
    ),
    BadInput(
        "listen: 127.0.0.300:80",
        "cutover.yaml:1: listen: not an address \"127.0.0.300:80\"; accepted: host:port, such as 127.0.0.1:8080 or [::1]:8080"
    ),
    BadInput(
        "listen: \"::1\"",
        "cutover.yaml:1: listen: not an address \"::1\"; accepted: host:port, such as 127.0.0.1:8080 or [::1]:8080; did you mean [::1]:8080?"
    ),
    BadInput(
        "listen: http://127.0.0.1:8080",
        "cutover.yaml:1: listen: a URL where an address is expected \"http://127.0.0.1:8080\"; accepted: host:port, such as 127.0.0.1:8080 or [::1]:8080"
    ),
    BadInput(
        "listen: 127.0.0.1:99999",
        "cutover.yaml:1: listen: not an address \"127.0.0.1:99999\"; accepted: host:port, such as 127.0.0.1:8080 or [::1]:8080"
    ),
    BadInput(
        "listen: []",
        "cutover.yaml:1: listen: an empty list; accepted: one address or more"),
    BadInput(
        "listen:\n  - 127.0.0.1:8080\n  - {adress: 127.0.0.1:8081}",
        "cutover.yaml:3: listen[1].adress: unknown key \"adress\"; accepted: address, tls, http2, connections; did you mean address?"
    ),
    BadInput(
        "listen: 127.0.0.1:9900",
        "cutover.yaml:1: listen: a clash with admin.listen (127.0.0.1:9900) in \"127.0.0.1:9900\"; accepted: an address of its own"
    ),
    BadInput(
        "listen: [127.0.0.1:1, \"0.0.0.0:1\"]",
        "cutover.yaml:1: listen[1]: a clash with listen[0] (127.0.0.1:1) in \"0.0.0.0:1\"; accepted: an address of its own"
    ),
    BadInput(
        "listen: {address: \"127.0.0.1:8443\", tls: {certificates: []}}",
        "cutover.yaml:1: listen.tls.certificates: an empty list; accepted: one certificate or more"),
    BadInput(
        "listen: {address: \"127.0.0.1:8443\", tls: {}}",
        "cutover.yaml:1: listen.tls.certificate_file: missing; accepted: a PEM file",
        "cutover.yaml:1: listen.tls.key_file: missing; accepted: a PEM file"),
    BadInput(
        "listen: {address: \"127.0.0.1:8443\", tls: {certificates: [{certificate_file: a, key: b}]}}",
        "cutover.yaml:1: listen.tls.certificates[0].key: unknown key \"key\"; accepted: certificate_file, key_file",
        "cutover.yaml:1: listen.tls.certificates[0].key_file: missing; accepted: a PEM file",
        "cutover.yaml:1: listen.tls.certificates[0].certificate_file: cannot be read (No such file or directory) \"a\""),
    BadInput(
        "listen: {address: \"127.0.0.1:8443\", tls: {certificate_file: a, key_file: b, client_certificate: never, client_ca_file: c}}",
        "cutover.yaml:1: listen.tls.client_certificate: not known \"never\"; accepted: required, optional"),
    BadInput(
        "listen: {address: \"127.0.0.1:8443\", tls: {certificate_file: a, key_file: b, client_certificate: optional}}",
        "cutover.yaml:1: listen.tls.client_certificate: of no use without client_ca_file; accepted: client_ca_file beside it"
    ),
    BadInput(
        "listen: [{address: \"127.0.0.1:8443\", tls: {certificate_file: a}}]",
        "cutover.yaml:1: listen[0].tls.key_file: missing; accepted: a PEM file",
        "cutover.yaml:1: listen[0].tls.certificate_file: cannot be read (No such file or directory) \"a\""),
    BadInput(
        "admin: 127.0.0.1:9900",
        "cutover.yaml:1: admin: a single value where a mapping is expected; accepted: listen, tls, allow_plaintext"),
    BadInput(
        "admin: {listen: \"0.0.0.0:9900\"}",
        "cutover.yaml:1: admin.listen: tokens would cross the network unencrypted to reach \"0.0.0.0:9900\"; accepted: this address with admin.tls; "
            + "127.0.0.1 or [::1]; where the network itself is private, this address with admin.allow_plaintext: true"),
    BadInput(
        "admin: {allow_plaintext: \"true\"}",
        "cutover.yaml:1: admin.allow_plaintext: a quoted string is no number or boolean \"true\"; accepted: true, false; did you mean true without quotes?"
    ),
    BadInput(
        "data: \"\"",
        "cutover.yaml:1: data: empty \"\"; accepted: text that is not empty"),
    BadInput(
        "plan: gone.yaml",
        "cutover.yaml:1: plan: cannot be read (No such file or directory) \"gone.yaml\""),
]
