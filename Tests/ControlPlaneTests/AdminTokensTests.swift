import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import ControlPlane

/// Writes a token as the gateway would: for its owner only.
func writeToken(_ text: String, to path: String, mode: mode_t = 0o600) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
    #expect(chmod(path, mode) == 0)
}

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
    try writeToken("0123456789abcdef", to: "\(directory.path)/admin.token")
    try writeToken("  fedcba9876543210 \r\n", to: "\(directory.path)/viewer.token")
    let tokens = try AdminTokens(directory: directory.path)
    #expect(tokens.role(of: "0123456789abcdef") == .admin && tokens.role(of: "fedcba9876543210") == .viewer)
    for wrong in ["", "0", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef0", "0123456789abcdef\n"] {
        #expect(tokens.role(of: wrong) == nil)
    }
    // 256 more bytes are the same length in one byte.
    #expect(tokens.role(of: "0123456789abcdef" + String(repeating: "\0", count: 256)) == nil)
}

@Test(
    arguments: [
        "", "\n", "short", "0123456789abcde\n", "  \u{7f}\u{1}  01234567 ",
        "0123456789abcdef a note\n", "# 0123456789abcdef\n", "0123456789abcdef\n0123456789abcdef\n",
        "0123456789abcdef\0x",
        "0123456789abcdef\u{e9}",
    ])
func aTokenFileThatHoldsNoneOrMoreThanOneIsRefusedWithoutBeingShown(text: String) throws {
    let directory = TemporaryDirectory()
    let path = "\(directory.path)/admin.token"
    try writeToken(text, to: path)
    do throws(TokenError) {
        _ = try AdminTokens(directory: directory.path)
        Issue.record("it was taken")
    } catch {
        #expect(error.text.contains(path))
        #expect(!error.text.contains("short") && !error.text.contains("0123") && !error.text.contains("note"))
    }
    #expect(try content(path) == text)
}

@Test func aDirectoryThatIsNotThereIsAnError() {
    #expect(throws: TokenError.self) { try AdminTokens(directory: "/nowhere/at/all") }
}

@Test(arguments: [0o644, 0o640, 0o604, 0o660, 0o606, 0o610] as [mode_t])
func aTokenThatOthersCanReadIsRefusedAndSaysHowToMendIt(mode: mode_t) throws {
    let directory = TemporaryDirectory()
    let path = "\(directory.path)/viewer.token"
    try writeToken("fedcba9876543210", to: path, mode: mode)
    do throws(TokenError) {
        _ = try AdminTokens(directory: directory.path)
        Issue.record("it was taken")
    } catch {
        #expect(error.text.hasSuffix("chmod 600 \(path)") && !error.text.contains("fedc"))
    }
    chmod(path, 0o400)
    #expect(try AdminTokens(directory: directory.path).role(of: "fedcba9876543210") == .viewer)
}

@Test func whatIsNoPlainFileIsNoToken() throws {
    let directory = TemporaryDirectory()
    #expect(mkfifo("\(directory.path)/admin.token", 0o600) == 0)
    #expect(throws: TokenError.self) { try AdminTokens(directory: directory.path) }
}

@Test func aViewerDoesNotHoldTheAdminToken() throws {
    let directory = TemporaryDirectory()
    for name in ["admin", "viewer"] { try writeToken("0123456789abcdef", to: "\(directory.path)/\(name).token") }
    #expect(throws: TokenError.self) { try AdminTokens(directory: directory.path) }
}

@Test func aNewTokenCountsOnceItIsUsedAndTheOldOneNoMore() throws {
    let directory = TemporaryDirectory()
    let path = "\(directory.path)/admin.token"
    try writeToken("0123456789abcdef", to: path)
    let tokens = try AdminTokens(directory: directory.path)
    try writeToken("another-token-of-mine", to: path)
    let pair = try #require(try tokens.reread(mayMake: true))
    #expect(tokens.role(of: "0123456789abcdef") == .admin && tokens.role(of: "another-token-of-mine") == nil)
    #expect(tokens.use(pair))
    #expect(tokens.role(of: "0123456789abcdef") == nil && tokens.role(of: "another-token-of-mine") == .admin)
    #expect(!tokens.use(pair))
    try writeToken("short", to: path)
    #expect(throws: TokenError.self) { try tokens.reread(mayMake: true) }
    #expect(tokens.role(of: "another-token-of-mine") == .admin)
    unlink(path)
    #expect(try tokens.reread(mayMake: false) == nil)
    #expect(access(path, F_OK) != 0)
    let made = try #require(try tokens.reread(mayMake: true))
    #expect(tokens.use(made) && tokens.role(of: "another-token-of-mine") == nil)
    #expect(tokens.role(of: String(try content(path).dropLast())) == .admin)
}
