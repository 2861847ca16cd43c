/// What `user` refuses.
let badUsers: [BadInput] = [
    BadInput(
        "user: {from: []}",
        "cutover.yaml:1: user.from: an empty list; accepted: one source or more: header, cookie, query, path, basic, jwt"
    ),
    BadInput(
        "user: {from: header}",
        "cutover.yaml:1: user.from: a single value where a list is expected; accepted: mappings of one key: header, cookie, query, path, basic, jwt"
    ),
    BadInput(
        "user: {from: [{heeder: X}]}",
        "cutover.yaml:1: user.from[0].heeder: unknown key \"heeder\"; accepted: header, cookie, query, path, basic, jwt; did you mean header?"
    ),
    BadInput(
        "user: {from: [{header: X, cookie: uid}]}",
        "cutover.yaml:1: user.from[0]: more than one source in one item \"header, cookie\"; accepted: one of header, cookie, query, path, basic, jwt"
    ),
    BadInput(
        "user: {from: [{}]}",
        "cutover.yaml:1: user.from[0]: no source; accepted: one of header, cookie, query, path, basic, jwt"),
    BadInput(
        "user: {from: [{header: \"X User\"}]}",
        "cutover.yaml:1: user.from[0].header: not a valid name \"X User\"; accepted: letters, digits and !#$%&'*+-.^_`|~, such as X-User-Id"
    ),
    BadInput(
        "user: {from: [{path: users/x}, {path: /users}, {path: \"/a/{b}/{c}\"}]}",
        "cutover.yaml:1: user.from[0].path: not a path pattern \"users/x\"; accepted: /path with one variable for the user, such as /users/{user_id}/**",
        "cutover.yaml:1: user.from[1].path: no variable for the user in \"/users\"; accepted: /path with one variable for the user, such as /users/{user_id}/**",
        "cutover.yaml:1: user.from[2].path: no variable named user_id in \"/a/{b}/{c}\"; accepted: /path with one variable for the user, such as /users/{user_id}/**"
    ),
    BadInput(
        "user: {from: [{basic: false}]}",
        "cutover.yaml:1: user.from[0].basic: not a choice \"false\"; accepted: true, or leave the item out"),
    BadInput(
        "user: {from: [{jwt: {claim: sub}}]}",
        "cutover.yaml:1: user.from[0].jwt: no key to judge the token with; accepted: one of hs256_secret_file, rs256_public_key_file, es256_public_key_file, public_key_file"
    ),
    BadInput(
        "user: {from: [{jwt: {hs256_secret_file: gone.key}}]}",
        "cutover.yaml:1: user.from[0].jwt.hs256_secret_file: cannot be read (No such file or directory) \"gone.key\""),
    BadInput(
        "user: {from: [{jwt: {hs256_secret_file: a, rs256_public_key_file: b}}]}",
        "cutover.yaml:1: user.from[0].jwt: more than one key to judge the token with \"hs256_secret_file, rs256_public_key_file\"; accepted: one of hs256_secret_file, rs256_public_key_file, es256_public_key_file, public_key_file"
    ),
    BadInput(
        "user: {from: [{jwt: {public_key_file: a}}]}",
        "cutover.yaml:1: user.from[0].jwt.algorithm: missing; accepted: rs256, es256"),
    BadInput(
        "user: {from: [{jwt: {algorithm: hs256, public_key_file: a}}]}",
        "cutover.yaml:1: user.from[0].jwt.algorithm: does not go with public_key_file \"hs256\"; accepted: rs256, es256"
    ),
    BadInput(
        "user: {from: [{jwt: {hs256_secret: hunter2}}]}",
        "cutover.yaml:1: user.from[0].jwt.hs256_secret: unknown key \"[redacted]\"; accepted: header, claim, hs256_secret_file, rs256_public_key_file, es256_public_key_file, algorithm, public_key_file; did you mean hs256_secret_file?"
    ),
    BadInput(
        "user: {anonymous: hash}",
        "cutover.yaml:1: user.anonymous: unknown word \"hash\"; accepted: legacy, hash:HEADER"),
    BadInput(
        "user: {anonymous: \"hash:\"}",
        "cutover.yaml:1: user.anonymous: no valid header name in \"hash:\"; accepted: legacy, hash:HEADER"),
    BadInput(
        "user: {algorithm: murmur}",
        "cutover.yaml:1: user.algorithm: unknown word \"murmur\"; accepted: murmur3, unleash, launchdarkly, growthbook, flagd, nginx; did you mean murmur3?"
    ),
    BadInput(
        "user: {salt: \"\"}",
        "cutover.yaml:1: user.salt: empty \"\"; accepted: text that is not empty"),
    BadInput(
        "user: {salt: \" \"}",
        "cutover.yaml:1: user.salt: empty \" \"; accepted: text that is not empty"),
]
