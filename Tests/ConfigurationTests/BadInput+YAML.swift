/// Texts that are no usable YAML.
let badYAML: [BadInput] = [
    BadInput(
        "expose: true\nexpose: false",
        "cutover.yaml:2: expose: the key is given twice (first on line 1) \"expose\"; accepted: each key once"),
    BadInput(
        "shadow: {percent: 1, percent: 2}",
        "cutover.yaml:1: shadow.percent: the key is given twice (first on line 1) \"percent\"; accepted: each key once"),
    BadInput(
        "expose: [true",
        "cutover.yaml:2: did not find expected ',' or ']' (while parsing a flow sequence that began on line 1)"),
    BadInput(
        "\texpose: true",
        "cutover.yaml:1: found character that cannot start any token (while scanning for the next token); accepted: spaces, not tabs, to indent"
    ),
    BadInput(
        "expose: *no",
        "cutover.yaml:1: expose: no anchor before this alias \"*no\"; accepted: the name of an anchor further up"),
    BadInput(
        "expose: !!bool true",
        "cutover.yaml:1: expose: tags are not supported \"tag:yaml.org,2002:bool\"; accepted: values without tags"),
    BadInput(
        "a: \"x\n",
        "cutover.yaml:4: did not find expected key (while parsing a block mapping that began on line 1)"),
    BadInput(
        "[1, 2]: x",
        "cutover.yaml:1: a key must be a single value, not a list; accepted: a name"),
    BadInput(
        "expose: true\n---\nb: 1",
        "cutover.yaml:2: a second document begins here; accepted: one document a file"),
    BadInput(
        "- a\n- b",
        "cutover.yaml:3: did not find expected '-' indicator (while parsing a block collection that began on line 1)"),
    BadInput(
        "just text",
        "cutover.yaml:2: mapping values are not allowed in this context"),
]
