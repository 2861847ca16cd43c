import CCurl

/// The moment that an HTTP date names (RFC 9110 §5.6.7), in seconds since 1970; nil for anything else.
package func httpDateSeconds(_ text: String) -> Int64? {
    // curl_getdate ignores its second argument and keeps nothing of the first.
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : Int64(seconds)
}
