import Routing
import Testing

@testable import Gateway

/// The examples of RFC 7515, appendix A.1 to A.3.
struct JWTVectorTests {
    static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    /// One second before the examples expire.
    static let now: Int64 = 1_300_819_379

    @Test func exampleA1IsAccepted() throws {
        let secret: [UInt8] = [
            0x03, 0x23, 0x35, 0x4b, 0x2b, 0x0f, 0xa5, 0xbc, 0x83, 0x7e, 0x06, 0x65, 0x77, 0x7b, 0xa6, 0x8f, 0x5a, 0xb3,
            0x28,
            0xe6, 0xf0, 0x54, 0xc9, 0x28, 0xa9, 0x0f, 0x84, 0xb2, 0xd2, 0x50, 0x2e, 0xbf, 0xd3, 0xfb, 0x5a, 0x92, 0xd2,
            0x06,
            0x47, 0xef, 0x96, 0x8a, 0xb4, 0xc3, 0x77, 0x62, 0x3d, 0x22, 0x3d, 0x2e, 0x21, 0x72, 0x05, 0x2e, 0x4f, 0x08,
            0xc0,
            0xcd, 0x9a, 0xf5, 0x67, 0xd0, 0x80, 0xa3,
        ]
        let file = try KeyFixture(secret)
        let verifier = try JWTVerifier(
            JWTSource(header: "Authorization", claim: "iss", algorithm: .hs256, keyFile: file.path))
        let token =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + Self.payload + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(verifier.user(token: token, now: Self.now) == "joe")
    }

    @Test func exampleA2IsAccepted() throws {
        let key = """
            -----BEGIN PUBLIC KEY-----
            MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAofgWCuLjybRlzo0tZWJj
            NiuSfb4p4fAkd/wWJcyQoTbji9k0l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEz
            P1Pt0Bm4d4QlL+yRT+SFd2lZS+pCgNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo
            9wGzjb/7OMg0LOL+bSf63kpaSHSXndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTB
            EMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxX
            FvUK+DWNmoudF8NAco9/h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXp
            oQIDAQAB
            -----END PUBLIC KEY-----

            """
        let signature =
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb"
            + "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383"
            + "LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy"
            + "wlVmtVrBp0igcN_IoypGlUPQGe77Rw"
        let verifier = try JWTVerifier.of(.rs256, key, claim: "iss")
        let token = "eyJhbGciOiJSUzI1NiJ9." + Self.payload + "." + signature
        #expect(verifier.user(token: token, now: Self.now) == "joe")
    }

    @Test func exampleA3IsAccepted() throws {
        let key = """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
            6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
            -----END PUBLIC KEY-----

            """
        let verifier = try JWTVerifier.of(.es256, key, claim: "iss")
        let token =
            "eyJhbGciOiJFUzI1NiJ9." + Self.payload
            + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        #expect(verifier.user(token: token, now: Self.now) == "joe")
    }
}
