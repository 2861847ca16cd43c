/// What `routes` refuses.
let badRoutes: [BadInput] = [
    BadInput(
        "routes: [{kind: read}]",
        "cutover.yaml:1: routes[0].match: missing; accepted: METHOD /path"),
    BadInput(
        "routes: [{match: \"GET notes\", kind: read}]",
        "cutover.yaml:1: routes[0].match: not a route pattern \"GET notes\"; accepted: METHOD /path or * /path, with {name} for one segment and /** at the end for any rest; did you mean GET /notes?"
    ),
    BadInput(
        "routes: [{match: \"get /notes\", kind: read}]",
        "cutover.yaml:1: routes[0].match: a method in lower case in \"get /notes\"; accepted: METHOD /path or * /path, with {name} for one segment and /** at the end for any rest; did you mean GET /notes?"
    ),
    BadInput(
        "routes: [{match: /notes, kind: read}]",
        "cutover.yaml:1: routes[0].match: not a route pattern \"/notes\"; accepted: METHOD /path or * /path, with {name} for one segment and /** at the end for any rest; did you mean * /notes?"
    ),
    BadInput(
        "routes: [{match: \"GET /a/**/b\", kind: read}]",
        "cutover.yaml:1: routes[0].match: not a route pattern \"GET /a/**/b\"; accepted: METHOD /path or * /path, with {name} for one segment and /** at the end for any rest"
    ),
    BadInput(
        "routes: [{match: \"GET /a?x=1\", kind: read}]",
        "cutover.yaml:1: routes[0].match: a query in the path pattern \"GET /a?x=1\"; accepted: METHOD /path or * /path, with {name} for one segment and /** at the end for any rest"
    ),
    BadInput(
        "routes: [{match: \"GET /a\", kind: raed}]",
        "cutover.yaml:1: routes[0].kind: unknown word \"raed\"; accepted: read, write, legacy, new, split; did you mean read?"
    ),
    BadInput(
        "routes: [{match: \"* /a\"}]",
        "cutover.yaml:1: routes[0].kind: missing; accepted: read, write, legacy, new, split"),
    BadInput(
        "routes: [{match: \"GET /a\", kind: read, user: /u, conditionals: keep}]",
        "cutover.yaml:1: routes[0].user: only a write has this, the route's kind is read: \"/u\"; accepted: kind: write",
        "cutover.yaml:1: routes[0].conditionals: only a write has this, the route's kind is read: \"keep\"; accepted: kind: write"
    ),
    BadInput(
        "routes: [{match: \"POST /a\", kind: write, items: /i}]",
        "cutover.yaml:1: routes[0].record: missing: the items of a batch need their record; accepted: a JSON pointer"),
    BadInput(
        "routes: [{match: \"POST /a\", kind: write, revision: /r}]",
        "cutover.yaml:1: routes[0].revision: no record for the revision \"/r\"; accepted: record: POINTER, or {record} in match"
    ),
    BadInput(
        "routes: [{match: \"POST /a\", kind: write, record: recordId}]",
        "cutover.yaml:1: routes[0].record: not a JSON pointer \"recordId\"; accepted: /name/name, with ~0 for ~ and ~1 for /; did you mean /recordId?"
    ),
    BadInput(
        "routes:\n  - {match: \"POST /a\", kind: write}\n  - GET /a",
        "cutover.yaml:3: routes[1]: a single value where a mapping is expected; accepted: match, kind, user, items, record, revision, idempotency_key, require_idempotency_key, conditionals, read"
    ),
    BadInput(
        "routes: [{match: \"POST /a\", conditionals: drop}]",
        "cutover.yaml:1: routes[0].conditionals: unknown word \"drop\"; accepted: keep"),
    BadInput(
        "routes: [{match: \"POST /a\", record: /id, read: \"records/{record}\"}]",
        "cutover.yaml:1: routes[0].read: not a target to read \"records/{record}\"; accepted: /path with {record} and {user}, such as /records/{record}; did you mean /records/{record}?"
    ),
    BadInput(
        "routes: [{match: \"POST /a\", record: /id, read: /records}]",
        "cutover.yaml:1: routes[0].read: no {record}, though the route names one, in \"/records\"; accepted: /path with {record}, such as /records/{record}"
    ),
    BadInput(
        "routes: [{match: \"POST /a\", read: \"/records/{record}\"}]",
        "cutover.yaml:1: routes[0].read: the route names no record for the {record} of \"/records/{record}\"; accepted: record: POINTER, or {record} in match"
    ),
]
