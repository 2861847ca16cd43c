/// Text as JSON Web Tokens spell bytes: Base64url without padding (RFC 7515 §2).
package func base64URL(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var (text, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
    for byte in bytes {
        bits = bits << 8 | UInt32(byte)
        count += 8
        while count >= 6 {
            count -= 6
            text.append(alphabet[Int(bits >> count & 63)])
        }
    }
    if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 63)]) }
    return String(decoding: text, as: UTF8.self)
}
