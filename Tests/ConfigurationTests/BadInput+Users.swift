/// What `user` refuses.
let badUsers: [BadInput] = [
    BadInput(
        "user: {from: []}",
        "cutover.yaml:1: user.from: an empty list; accepted: one source or more: header, cookie, query, path, basic, jwt, signed_cookie"
    ),
    BadInput(
        "user: {from: header}",
        "cutover.yaml:1: user.from: a single value where a list is expected; accepted: mappings of one key: header, cookie, query, path, basic, jwt, signed_cookie"
    ),
    BadInput(
        "user: {from: [{heeder: X}]}",
        "cutover.yaml:1: user.from[0].heeder: unknown key \"heeder\"; accepted: header, cookie, query, path, basic, jwt, signed_cookie; did you mean header?"
    ),
    BadInput(
        "user: {from: [{header: X, cookie: uid}]}",
        "cutover.yaml:1: user.from[0]: more than one source in one item \"header, cookie\"; accepted: one of header, cookie, query, path, basic, jwt, signed_cookie"
    ),
    BadInput(
        "user: {from: [{}]}",
        "cutover.yaml:1: user.from[0]: no source; accepted: one of header, cookie, query, path, basic, jwt, signed_cookie"
    ),
    BadInput(
        "user: {from: [{header: \"X User\"}]}",
        "cutover.yaml:1: user.from[0].header: not a valid name \"X User\"; accepted: letters, digits and !#$%&'*+-.^_`|~, such as X-User-Id"
    ),
    BadInput(
        "user: {from: [{path: users/x}, {path: /users}, {path: \"/a/{b}/{c}\"}]}",
        "cutover.yaml:1: user.from[0].path: not a path pattern \"users/x\"; accepted: /path with {user_id} for the user, such as /users/{user_id}/**",
        "cutover.yaml:1: user.from[1].path: no variable for the user in \"/users\"; accepted: /path with {user_id} for the user, such as /users/{user_id}/**",
        "cutover.yaml:1: user.from[2].path: no variable named user_id in \"/a/{b}/{c}\"; accepted: /path with {user_id} for the user, such as /users/{user_id}/**"
    ),
    BadInput(
        "user: {from: [{basic: false}]}",
        "cutover.yaml:1: user.from[0].basic: not a choice \"false\"; accepted: true, or leave the item out"),
    BadInput(
        "user: {from: [{jwt: {claim: sub}}]}",
        "cutover.yaml:1: user.from[0].jwt: no key to judge the token with; accepted: one of hs256_secret_file, rs256_public_key_file, es256_public_key_file, public_key_file, jwks_file"
    ),
    BadInput(
        "user: {from: [{jwt: {hs256_secret_file: gone.key}}]}",
        "cutover.yaml:1: user.from[0].jwt.hs256_secret_file: cannot be read (No such file or directory) \"gone.key\""),
    BadInput(
        "user: {from: [{jwt: {hs256_secret_file: a, rs256_public_key_file: b}}]}",
        "cutover.yaml:1: user.from[0].jwt: more than one key to judge the token with \"hs256_secret_file, rs256_public_key_file\"; accepted: one of hs256_secret_file, rs256_public_key_file, es256_public_key_file, public_key_file, jwks_file"
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
        "cutover.yaml:1: user.from[0].jwt.hs256_secret: unknown key \"[redacted]\"; accepted: header, claim, hs256_secret_file, rs256_public_key_file, es256_public_key_file, algorithm, public_key_file, jwks_file, issuer, audience, leeway, require_exp; did you mean hs256_secret_file?"
    ),
    BadInput(
        "user: {from: [{jwt: {jwks_file: a, hs256_secret_file: b}}]}",
        "cutover.yaml:1: user.from[0].jwt: more than one key to judge the token with \"hs256_secret_file, jwks_file\"; accepted: one of hs256_secret_file, rs256_public_key_file, es256_public_key_file, public_key_file, jwks_file"
    ),
    BadInput(
        "user: {from: [{jwt: {jwks_file: gone.json, algorithm: rs256}}]}",
        "cutover.yaml:1: user.from[0].jwt.algorithm: does not go with jwks_file: each key of the set says what it is for \"rs256\"; accepted: jwks_file without it",
        "cutover.yaml:1: user.from[0].jwt.jwks_file: cannot be read (No such file or directory) \"gone.json\""
    ),
    BadInput(
        "user: {from: [{jwt: {hs256_secret_file: gone.key, leeway: 2h, audience: [], issuer: \"\", require_exp: maybe}}]}",
        "cutover.yaml:1: user.from[0].jwt.issuer: empty \"\"; accepted: text that is not empty",
        "cutover.yaml:1: user.from[0].jwt.audience: an empty list; accepted: one text, or a list of one or more",
        "cutover.yaml:1: user.from[0].jwt.leeway: out of range \"2h\"; accepted: 0ms to 1h",
        "cutover.yaml:1: user.from[0].jwt.require_exp: not a boolean \"maybe\"; accepted: true, false",
        "cutover.yaml:1: user.from[0].jwt.hs256_secret_file: cannot be read (No such file or directory) \"gone.key\""
    ),
    BadInput(
        "user: {from: [{signed_cookie: {encoding: hex}}]}",
        "cutover.yaml:1: user.from[0].signed_cookie.name: missing; accepted: the cookie's name",
        "cutover.yaml:1: user.from[0].signed_cookie.secret_file: missing; accepted: a file with one secret a line",
        "cutover.yaml:1: user.from[0].signed_cookie.encoding: unknown word \"hex\"; accepted: plain, percent, base64url"
    ),
    BadInput(
        "user: {unverifiable: 403}",
        "cutover.yaml:1: user.unverifiable: unknown word \"403\"; accepted: anonymous, 401; did you mean 401?"),
    BadInput(
        "trusted_proxies: [10.0.0.0/8, 10.1.2.3/8, \"fd00::1/8\", 10.0.0.0/33, proxy.example, \"::1/129\", \"fe80::1%eth0\"]",
        "cutover.yaml:1: trusted_proxies[1]: bits behind the prefix in \"10.1.2.3/8\"; accepted: an address or a network, such as 10.0.0.0/8, 192.0.2.7, fd00::/8, ::1; did you mean 10.0.0.0/8?",
        "cutover.yaml:1: trusted_proxies[2]: bits behind the prefix in \"fd00::1/8\"; accepted: an address or a network, such as 10.0.0.0/8, 192.0.2.7, fd00::/8, ::1; did you mean fd00::/8?",
        "cutover.yaml:1: trusted_proxies[3]: no prefix length from 0 to 32 in \"10.0.0.0/33\"; accepted: an address or a network, such as 10.0.0.0/8, 192.0.2.7, fd00::/8, ::1",
        "cutover.yaml:1: trusted_proxies[4]: not an address or a network \"proxy.example\"; accepted: an address or a network, such as 10.0.0.0/8, 192.0.2.7, fd00::/8, ::1",
        "cutover.yaml:1: trusted_proxies[5]: no prefix length from 0 to 128 in \"::1/129\"; accepted: an address or a network, such as 10.0.0.0/8, 192.0.2.7, fd00::/8, ::1",
        "cutover.yaml:1: trusted_proxies[6]: not an address or a network \"fe80::1%eth0\"; accepted: an address or a network, such as 10.0.0.0/8, 192.0.2.7, fd00::/8, ::1"
    ),
    BadInput(
        "trusted_proxies: 10.0.0.0/8",
        "cutover.yaml:1: trusted_proxies: a single value where a list is expected; accepted: addresses and networks, such as 10.0.0.0/8, 192.0.2.7, fd00::/8"
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
