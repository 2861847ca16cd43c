/// Public keys whose private halves nobody has: the tokens among the seeds were signed with them.
enum FuzzKeys {
    static let rsa = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxI0S0LaZ+BoNsL5ltAn9
        G+E2HMKAKcjzbA94r7TTY7+92jIqUCcT9iMSfag9l2KSF7yvl/jBRqNM5Ob8RqNq
        zBGuWcxlmnDs2I4gFF78c32uozhEVXMY1x+otP4HATLNUtoj1lmeg2FelcTuJ/l3
        CGgZxW+xMUcq3aCbkDoFVxkRfuIc0yPOHzqPYZv79F2wdmdvR+5AACtbYLiPynmN
        MEjS8AHnp55eBn4x7HNU+pVSj9R5wfoVJ4luT324RmTFegX4KyPT1c6eAR7AR8ag
        CtRAdFu5HzX+uv/P51Bf5FbDmknZGzEW3saTCLZdK22FZ2ApPecHaciCSp6EFRgN
        fQIDAQAB
        -----END PUBLIC KEY-----
        """

    static let ec = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeo+gJ1rq4IzJuThFPl5BgqqVyZH/
        uHSFC3UlN9NKk3OAJZVbc6VboFMTZfAqm+pvZHIYFCY8FJ68T1cRwC7A8g==
        -----END PUBLIC KEY-----
        """

    private static let modulus =
        "xI0S0LaZ-BoNsL5ltAn9G-E2HMKAKcjzbA94r7TTY7-"
        + "92jIqUCcT9iMSfag9l2KSF7yvl_jBRqNM5Ob8RqNqzBGuWcxlmnDs2I4gFF78c32uozhEVXMY1x-"
        + "otP4HATLNUtoj1lmeg2FelcTuJ_l3CGgZxW-"
        + "xMUcq3aCbkDoFVxkRfuIc0yPOHzqPYZv79F2wdmdvR-5AACtbYLiPynmNMEjS8AHnp55eBn4x7HNU-"
        + "pVSj9R5wfoVJ4luT324RmTFegX4KyPT1c6eAR7AR8agCtRAdFu5HzX-"
        + "uv_P51Bf5FbDmknZGzEW3saTCLZdK22FZ2ApPecHaciCSp6EFRgNfQ"

    static var set: String {
        let rsa = #"{"kty":"RSA","kid":"r","alg":"RS256","use":"sig","n":"\#(modulus)","e":"AQAB"}"#
        let (x, y) = ("eo-gJ1rq4IzJuThFPl5BgqqVyZH_uHSFC3UlN9NKk3M", "gCWVW3OlW6BTE2XwKpvqb2RyGBQmPBSevE9XEcAuwPI")
        let ec = #"{"kty":"EC","crv":"P-256","kid":"e","x":"\#(x)","y":"\#(y)","key_ops":["verify"]}"#
        let shared = #"{"kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlBQkNERUY","alg":"HS256"}"#
        return #"{"keys":[\#(rsa),\#(ec),\#(shared)]}"#
    }
}
