import ControlPlane
import FoundationEssentials
import Glibc
import Testing
@testable import CutoverCLI
import Values

struct HelpTests {
    @Test func everyCommandOfTheContractIsThere() {
        let expected = [
            "serve", "check", "status", "promote", "rollback", "pause", "resume", "set-percent", "explain", "pin",
            "unpin", "stop-legacy", "resume-legacy", "reverse-sync",
            "mismatches", "journal", "journal replay", "journal settle", "events", "hash", "compare", "bucket", "demo",
            "version",
            "store migrate",
        ]
        #expect(Set(allCommands.map(\.name)) == Set(expected))
    }

    @Test func theOverviewNamesEveryCommandOnce() {
        let lines = overview(allCommands).split(separator: "\n")
        for command in allCommands {
            #expect(lines.filter { $0.hasPrefix("  \(command.name)  ") && $0.hasSuffix(command.summary) }.count == 1)
        }
    }

    @Test(arguments: allCommands.map(\.name))
    func everyCommandHasHelpWithAnExample(_ name: String) throws {
        let played = PlayedSurroundings()
        #expect(played.run("help", name) == 0 || name.contains(" "))
        let command = try #require(allCommands.first { $0.name == name })
        let text = help(command)
        #expect(text.contains("Usage: cutover \(name)"))
        #expect(text.contains("Example:\n  $ cutover \(name)"))
        #expect(text.contains("--json"))
        #expect(text.split(separator: "\n").allSatisfy { !$0.hasSuffix(" ") })
    }

    @Test func helpIsFoundInEveryWayOfAsking() {
        var texts: Set<String> = []
        for arguments in [
            ["help", "journal", "replay"], ["journal", "replay", "--help"], ["journal", "replay", "7", "-h"],
        ] {
            let played = PlayedSurroundings()
            let status =
                arguments.count == 3
                ? played.run(arguments[0], arguments[1], arguments[2])
                : played.run(arguments[0], arguments[1], arguments[2], arguments[3])
            #expect(status == 0)
            #expect(played.errors.isEmpty)
            texts.insert(played.output)
        }
        #expect(texts.count == 1)
    }

    @Test func noCommandAtAllShowsTheOverview() {
        let played = PlayedSurroundings()
        #expect(played.run() == 0)
        #expect(played.output == overview(allCommands) + "\n")
    }

    @Test func anUnknownCommandIsAUsageErrorWithASuggestion() {
        let played = PlayedSurroundings()
        #expect(played.run("promot") == 2)
        #expect(
            played.errors == "cutover: unknown command \"promot\"; did you mean \"promote\"?\nTry: cutover --help\n")
        #expect(played.output.isEmpty)
    }

    @Test func helpAboutHelpIsTheOverview() {
        let played = PlayedSurroundings()
        #expect(played.run("help", "help") == 0)
        #expect(played.output == overview(allCommands) + "\n")
        let mistyped = PlayedSurroundings()
        #expect(mistyped.run("hepl") == 2)
        #expect(mistyped.errors.hasPrefix("cutover: unknown command \"hepl\"; did you mean \"help\"?\n"))
    }

    @Test(arguments: ["backfill", "verify", "backup", "restore"])
    func aCommandOfALaterVersionIsNamedAsSuchAndNotListed(_ name: String) {
        let played = PlayedSurroundings()
        #expect(played.run(name, "--all") == 2)
        #expect(played.errors.hasPrefix("cutover: \"\(name)\" is not in this version\n"))
        #expect(!overview(allCommands).contains(name))
    }

    @Test func aFlagBeforeTheCommandIsExplained() {
        let played = PlayedSurroundings()
        #expect(played.run("--admin", "x", "status") == 2)
        #expect(played.errors.hasPrefix("cutover: the command comes first, then its flags"))
    }

    @Test func helpForMachinesIsJSON() throws {
        let played = PlayedSurroundings()
        #expect(played.run("help", "pin", "--json") == 0)
        let json = try JSONDecoder().decode(JSONValue.self, from: Data(played.output.utf8))
        #expect(json["name"]?.phrase == "pin")
        #expect(json["synopsis"]?.phrase == "cutover pin USER legacy|new [flags]")
    }

    @Test func theVersionIsPrintedBothWays() {
        let text = PlayedSurroundings()
        #expect(text.run("version") == 0)
        #expect(text.output == "cutover \(productVersion)\n")
        let json = PlayedSurroundings()
        #expect(json.run("--version", "--json") == 0)
        #expect(json.output == "{\"name\":\"cutover\",\"version\":\"\(productVersion)\"}\n")
    }

    @Test func whatCannotBeWrittenIsAFailureAndSaidOnce() {
        let full = PlayedSurroundings(outputError: ENOSPC)
        #expect(full.run("version") == 1)
        #expect(full.errors == "cutover: cannot write to standard output: No space left on device\n")
        let many = PlayedSurroundings(isTerminal: true, outputError: EBADF, pauses: 3, answers: [answer("{}")])
        #expect(many.run("status", "--watch") == 1)
        #expect(many.errors == "cutover: cannot write to standard output: Bad file descriptor\n")
    }

    @Test func whoeverClosedThePipeHasSeenEnough() {
        let closed = PlayedSurroundings(outputError: EPIPE)
        #expect(closed.run("version") == 1)
        #expect(closed.errors == "")
    }

    @Test func theDocumentHoldsEveryCommandsExample() throws {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let document = String(decoding: try Data(contentsOf: URL(filePath: root + "/docs/cli.md")), as: UTF8.self)
        for command in allCommands {
            #expect(document.contains("## cutover \(command.name)\n"), "docs/cli.md has no section for \(command.name)")
            #expect(
                document.contains(command.example),
                "docs/cli.md has another example for \(command.name)")
            for flag in command.flags where !["json", "help"].contains(flag.name) {
                #expect(document.contains("`--\(flag.name)"), "docs/cli.md does not know --\(flag.name)")
            }
        }
    }
}
