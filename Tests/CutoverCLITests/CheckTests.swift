import ControlPlane
import FoundationEssentials
import Testing
@testable import CutoverCLI
import Values

struct CheckTests {
    @Test func twoAddressesAreEnough() {
        let played = PlayedSurroundings()
        #expect(played.run("check", "--legacy", "http://127.0.0.1:7001", "--new", "http://127.0.0.1:7002") == 0)
        #expect(played.output.hasSuffix("command line: valid; no plan, 0 routes\n"))
    }

    @Test func everyErrorIsALineOfItsOwnAndTheStatusIsOne() {
        let played = PlayedSurroundings()
        #expect(played.run("check", "--legacy", "ftp://x", "--listen", "nowhere") == 1)
        #expect(played.output.split(separator: "\n").count == 3)
        #expect(played.output.split(separator: "\n").allSatisfy { $0.hasPrefix("command line: ") })
        #expect(played.errors.isEmpty)
    }

    @Test func machinesGetTheSameErrors() throws {
        let played = PlayedSurroundings()
        #expect(played.run("check", "--json") == 1)
        let json = try JSONDecoder().decode(JSONValue.self, from: Data(played.output.utf8))
        #expect(json["valid"]?.phrase == "no")
        guard case .array(let errors)? = json["errors"] else {
            Issue.record("errors is no list")
            return
        }
        #expect(errors.count == 2)
        #expect(errors.allSatisfy { $0["file"]?.phrase == "command line" && $0["message"] != nil })
    }

    @Test func aFileThatIsNotThereIsAnErrorLikeAnyOther() {
        for arguments in [["check", "/nowhere/c.yaml"], ["check", "--config=/nowhere/c.yaml"]] {
            let played = PlayedSurroundings()
            #expect(played.run(arguments[0], arguments[1]) == 1)
            #expect(played.output.hasPrefix("/nowhere/c.yaml: "))
        }
        #expect(PlayedSurroundings().run("check", "a.yaml", "--config", "b.yaml") == 2)
        #expect(PlayedSurroundings().run("check", "a.yaml", "b.yaml") == 2)
    }

    @Test func aPlanInPlaceOfAConfigurationIsRecognised() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "cutover-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("name: m\nstages: [{name: a, percent: 0}]\n".utf8).write(to: file)
        let played = PlayedSurroundings()
        #expect(played.run("check", file.path) == 1)
        #expect(
            played.output.hasPrefix(
                "\(file.path) is a plan: check it with --plan \(file.path),"
                    + " beside --config FILE or --legacy URL --new URL\n"))
        let asPlan = PlayedSurroundings()
        let backends = ["--legacy", "http://127.0.0.1:1", "--new", "http://127.0.0.1:2"]
        #expect(
            asPlan.run("check", "--plan", file.path, backends[0], backends[1], backends[2], backends[3]) == 0)
        #expect(!asPlan.output.contains("is a plan"))
    }

    @Test func bucketTakesAlgorithmAndSaltFromAConfiguration() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "cutover-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        let text = """
            user: {algorithm: unleash, salt: s1}
            backends: {legacy: {url: "http://127.0.0.1:1"}, new: {url: "http://127.0.0.1:2"}}
            """
        try Data(text.utf8).write(to: file)
        let fromFile = PlayedSurroundings()
        let fromFlags = PlayedSurroundings()
        #expect(fromFile.run("bucket", "42", "--config", file.path) == 0)
        #expect(fromFlags.run("bucket", "42", "--algorithm", "unleash", "--salt", "s1") == 0)
        #expect(fromFile.output == fromFlags.output)
        let overridden = PlayedSurroundings()
        #expect(overridden.run("bucket", "42", "--config", file.path, "--salt", "s2", "--json") == 0)
        #expect(overridden.output.contains("unleash"))
        #expect(overridden.output != fromFile.output)
    }
}
