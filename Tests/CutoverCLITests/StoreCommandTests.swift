import Testing
@testable import CutoverCLI

/// What `store migrate` refuses before it touches a store. What it does is tested with a real PostgreSQL.
struct StoreCommandTests {
    private func refusal(_ arguments: String...) -> String {
        let played = PlayedSurroundings()
        let words = ["--from", "--to"]
        let status =
            arguments.count == 2
            ? played.run("store", "migrate", words[0], arguments[0], words[1], arguments[1])
            : played.run("store", "migrate", words[0], arguments[0])
        #expect(status == 2 && played.output.isEmpty)
        return played.errors
    }

    @Test func bothEndsAreNeeded() {
        #expect(refusal("sqlite").hasPrefix("cutover store migrate: --from and --to are needed"))
    }

    @Test func aPasswordIsRefusedAndNotRepeated() {
        let words = refusal("sqlite", "postgresql://anna:tell-nobody@host/db")
        #expect(words.contains("PGPASSFILE") && !words.contains("tell-nobody"))
    }

    @Test func theWayBackIsRefusedInWords() {
        #expect(refusal("postgres", "sqlite").contains("not moved back to an embedded one in this version"))
        #expect(refusal("postgresql://host/db", "sqlite").contains("not moved back to an embedded one in this version"))
    }

    @Test func unknownStoresAreRefusedWithWhatIsAccepted() {
        #expect(refusal("mysql", "postgresql://host/db").contains("accepted: sqlite"))
        #expect(refusal("sqlite", "mysql://host/db").contains("accepted: postgresql://user@host/db"))
        #expect(refusal("sqlite", "sqlite").contains("accepted: postgresql://user@host/db"))
        #expect(refusal("sqlite", "postgres").contains("needs a --config whose store is postgresql://…"))
    }

    @Test func aDryRunAndAComparisonExcludeEachOther() {
        let played = PlayedSurroundings()
        #expect(
            played.run(
                "store", "migrate", "--from", "sqlite", "--to", "postgresql://host/db", "--dry-run", "--verify") == 2)
        #expect(played.errors.contains("exclude each other"))
    }

    @Test func adviceForAnUnfinishedNameIsTheWholeCommand() {
        let played = PlayedSurroundings()
        #expect(played.run("store") == 2)
        #expect(played.errors.contains("did you mean \"store migrate\"?"))
    }
}
