import Testing

import Values

@testable import ControlPlane

@Test func aNumberThatJSONCannotHoldBecomesNull() {
    #expect(number(nil).text == "null" && number(.nan).text == "null" && number(-.infinity).text == "null")
    #expect(number(3).text == "3" && number(0.25).text == "0.25" && number(1e300).text == "1e+300")
}

@Test(
    arguments: [
        ("limit=5&cursor=7", "cursor", "7"), ("limit=5", "cursor", nil), ("", "cursor", nil), ("cursor", "cursor", ""),
        ("cursor=", "cursor", ""), ("a=b=c", "a", "b=c"), ("a=%31%20", "a", "1 "), ("&&a=1", "a", "1"),
        ("%61=1", "a", "1"), ("a=+", "a", "+"),
    ] as [(String, String, String?)])
func aValueOfAQueryIsFoundAndDecoded(query: String, name: String, value: String?) throws {
    #expect(try Query(query).text(name) == value)
}

@Test func aParameterThatIsGivenTwiceIsNotGuessed() {
    #expect(throws: BadCall.self) { try Query("a=1&a=2").text("a") }
    #expect(throws: BadCall.self) { try Query("a=1&%61=1").count("a") }
}
