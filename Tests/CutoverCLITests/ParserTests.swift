import Testing

@testable import CutoverCLI

struct ParserTests {
    private let command = Command(
        "try", "A command for tests", operands: .any("WORD"),
        flags: [
            .value("name", "TEXT", "One"), .value("many", "TEXT", "Several", repeats: true),
            .toggle("force", "A switch"),
        ], example: "", run: { _ in 0 })

    @Test func understandsBothWaysOfGivingAValue() throws {
        #expect(
            try parse(["--name", "a b", "--many=x", "--many", "y"], for: command).values == [
                "name": ["a b"], "many": ["x", "y"],
            ])
        #expect(try parse(["--name="], for: command).values["name"] == [""])
        #expect(try parse(["--name=a=b"], for: command).values["name"] == ["a=b"])
    }

    @Test func takesFlagsBeforeBetweenAndAfterOperands() throws {
        let parsed = try parse(["one", "--force", "two", "--name", "n"], for: command)
        #expect(parsed.operands == ["one", "two"])
        #expect(parsed.values == ["force": [""], "name": ["n"]])
    }

    @Test func treatsWhatFollowsTwoDashesAsOperands() throws {
        #expect(try parse(["--force", "--", "--name", "-x", "--"], for: command).operands == ["--name", "-x", "--"])
    }

    @Test func takesADashAndNumbersBelowZeroForOperands() throws {
        #expect(try parse(["-", "-5", "-0.5"], for: command).operands == ["-", "-5", "-0.5"])
    }

    @Test func refusesUnknownFlagsWithTheNearestKnownOne() {
        #expect(throws: UsageError(command: "try", message: "unknown flag --nmae; did you mean --name?")) {
            try parse(["--nmae=3"], for: command)
        }
        #expect(throws: UsageError(command: "try", message: "unknown flag --zzzzzz")) {
            try parse(["--zzzzzz"], for: command)
        }
        #expect(throws: UsageError(command: "try", message: "unknown flag -force; did you mean --force?")) {
            try parse(["-force"], for: command)
        }
    }

    @Test func refusesAFlagWithoutItsValue() {
        for words in [["--name"], ["--name", "--force"], ["--name", "--"]] {
            #expect(throws: UsageError(command: "try", message: "--name needs a value: --name TEXT")) {
                try parse(words, for: command)
            }
        }
    }

    @Test func refusesAValueForASwitch() {
        #expect(throws: UsageError(command: "try", message: "--force takes no value")) {
            try parse(["--force=yes"], for: command)
        }
    }

    @Test func refusesAFlagGivenTwiceThatDoesNotRepeat() {
        #expect(throws: UsageError(command: "try", message: "--name is given twice")) {
            try parse(["--name", "a", "--name", "a"], for: command)
        }
        #expect(throws: Never.self) { try parse(["--force", "--force"], for: command) }
    }

    @Test func namesMissingAndSuperfluousArguments() {
        let two = Command("two", "", operands: .exactly(["USER", "SIDE"]), example: "", run: { _ in 0 })
        #expect(throws: UsageError(command: "two", message: "USER and SIDE are missing")) { try parse([], for: two) }
        #expect(throws: UsageError(command: "two", message: "SIDE is missing")) { try parse(["1"], for: two) }
        #expect(throws: UsageError(command: "two", message: "unexpected argument \"3\"")) {
            try parse(["1", "2", "3"], for: two)
        }
        let none = Command("none", "", example: "", run: { _ in 0 })
        #expect(throws: UsageError(command: "none", message: "unexpected argument \"x\"")) {
            try parse(["x"], for: none)
        }
    }

    @Test func suggestsOnlyWhatIsNear() {
        let names = allCommands.map(\.name)
        #expect(nearest(to: "stauts", among: names) == "status")
        #expect(nearest(to: "rolback", among: names) == "rollback")
        #expect(nearest(to: "mism", among: names) == "mismatches")
        #expect(nearest(to: "PROMOTE", among: names) == "promote")
        #expect(nearest(to: "frobnicate", among: names) == nil)
        #expect(nearest(to: "", among: names) == nil)
    }
}
