import FoundationEssentials
import Glibc
import Testing

@testable import ControlPlane

private func content(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
}

@Test func tokensAreMadeOnceAndReadableByTheirOwnerOnly() throws {
    let directory = TemporaryDirectory()
    let first = try AdminTokens(directory: directory.path)
    var texts: [String] = []
    for name in ["admin.token", "viewer.token"] {
        var status = stat()
        #expect(stat("\(directory.path)/\(name)", &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o600)
        let text = try content("\(directory.path)/\(name)")
        #expect(text.hasSuffix("\n") && text.utf8.count == 65)
        texts.append(String(text.dropLast()))
    }
    #expect(texts[0] != texts[1])
    for tokens in [first, try AdminTokens(directory: directory.path)] {
        #expect(tokens.role(of: texts[0]) == .admin && tokens.role(of: texts[1]) == .viewer)
    }
    #expect(try content("\(directory.path)/admin.token") == texts[0] + "\n")
}

@Test func whatACrashLeftOfAMakingIsNoObstacle() throws {
    let directory = TemporaryDirectory()
    let draft = "\(directory.path)/admin.token.new"
    try Data("half".utf8).write(to: URL(filePath: draft))
    chmod(draft, 0o644)
    let tokens = try AdminTokens(directory: directory.path)
    let token = try content("\(directory.path)/admin.token").dropLast()
    #expect(tokens.role(of: String(token)) == .admin)
    var status = stat()
    #expect(stat("\(directory.path)/admin.token", &status) == 0 && status.st_mode & 0o7777 == 0o600)
    #expect(access(draft, F_OK) != 0)
}

@Test func onlyTheWholeTokenIsTheToken() throws {
    let directory = TemporaryDirectory()
    try Data("0123456789abcdef".utf8).write(to: URL(filePath: "\(directory.path)/admin.token"))
    try Data("  fedcba9876543210 \r\n".utf8).write(to: URL(filePath: "\(directory.path)/viewer.token"))
    let tokens = try AdminTokens(directory: directory.path)
    #expect(tokens.role(of: "0123456789abcdef") == .admin && tokens.role(of: "fedcba9876543210") == .viewer)
    for wrong in ["", "0", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef0", "0123456789abcdef\n"] {
        #expect(tokens.role(of: wrong) == nil)
    }
    // 256 more bytes are the same length in one byte.
    #expect(tokens.role(of: "0123456789abcdef" + String(repeating: "\0", count: 256)) == nil)
}

@Test(arguments: ["", "\n", "short", "0123456789abcde\n", "  \u{7f}\u{1}  01234567 "])
func aTokenFileThatIsTooShortIsRefusedWithoutBeingShown(text: String) throws {
    let directory = TemporaryDirectory()
    let path = "\(directory.path)/admin.token"
    try Data(text.utf8).write(to: URL(filePath: path))
    do throws(TokenError) {
        _ = try AdminTokens(directory: directory.path)
        Issue.record("it was taken")
    } catch {
        #expect(error.text.contains(path))
        #expect(!error.text.contains("short") && !error.text.contains("0123"))
    }
    #expect(try content(path) == text)
}

@Test func aDirectoryThatIsNotThereIsAnError() {
    #expect(throws: TokenError.self) { try AdminTokens(directory: "/nowhere/at/all") }
}
