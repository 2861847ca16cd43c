import Routing
import Testing

@testable import Configuration

/// `access_log` and `tracing`.
@Suite struct ObservingTests {
    @Test func nothingIsWrittenAndNoTraceIsBegunUnlessItIsAskedFor() throws {
        let settings = try #require(load(minimal).settings)
        #expect(settings.accessLog == nil && settings.tracing == TracingSettings())
        #expect(settings.tracing.context == .continue)
    }

    @Test func aFileIsEnoughForAnAccessLog() throws {
        let settings = try #require(load("access_log: {file: logs/access.log}\n" + minimal).settings)
        #expect(settings.accessLog == AccessLogSettings(destination: .file("logs/access.log")))
        #expect(load("access_log: {file: stdout}\n" + minimal).settings?.accessLog?.destination == .standardOutput)
        #expect(load("access_log: {file: stderr}\n" + minimal).settings?.accessLog?.destination == .standardError)
        #expect(load("access_log: {file: ./stdout}\n" + minimal).settings?.accessLog?.destination == .file("./stdout"))
    }

    @Test func everyKeyIsTakenOver() throws {
        let text = """
            access_log:
              file: /var/log/cutover/access.log
              format: combined
              sample: 12.5%
              always: 400
              client: plain
              user: hash
              query: none
              redact: ["/accounts/{user_id}/**"]
            tracing: {context: start, sample: 0.5%, otlp: "http://collector:4318/v1/traces"}

            """
        let settings = try #require(load(text + minimal).settings)
        var log = AccessLogSettings(destination: .file("/var/log/cutover/access.log"))
        (log.format, log.sampleHundredths, log.alwaysFrom) = (.combined, 1250, 400)
        (log.client, log.user, log.query) = (.plain, .hash, .none)
        log.redact = [try #require(PathPattern("/accounts/{user_id}/**"))]
        #expect(settings.accessLog == log)
        #expect(settings.tracing.context == .start && settings.tracing.sampleHundredths == 50)
        #expect(settings.tracing.otlp == "http://collector:4318/v1/traces")
    }

    @Test(arguments: [
        BadInput("access_log: {}", "cutover.yaml:1: access_log.file: missing; accepted: a file, stdout, stderr"),
        BadInput(
            "access_log: {file: stdout, format: jsno}",
            "cutover.yaml:1: access_log.format: unknown word \"jsno\"; accepted: json, combined; did you mean json?"),
        BadInput(
            "access_log: {file: stdout, always: 700}",
            "cutover.yaml:1: access_log.always: out of range \"700\"; accepted: a whole number from 100 to 600"),
        BadInput(
            "access_log: {file: stdout, user: id}",
            "cutover.yaml:1: access_log.user: unknown word \"id\"; accepted: none, hash, plain"),
        BadInput(
            "access_log: {file: stdout, redact: [/accounts]}",
            "cutover.yaml:1: access_log.redact[0]: no variable for the user in \"/accounts\"; "
                + "accepted: /path with {user_id} for the user, such as /users/{user_id}/**"),
        BadInput(
            "tracing: {context: continues}",
            "cutover.yaml:1: tracing.context: unknown word \"continues\"; accepted: continue, start, pass; "
                + "did you mean continue?"),
        BadInput(
            "tracing: {otlp: \"collector:4318\"}",
            "cutover.yaml:1: tracing.otlp: not an http or https URL \"collector:4318\"; "
                + "accepted: http://host/path or https://host/path"),
        BadInput(
            "tracing: {otlp: \"https://u:p@collector:4318/v1/traces?x=a@b\"}",
            "cutover.yaml:1: tracing.otlp: a user name or password in the URL "
                + "\"https://[redacted]@b\"; accepted: http://host/path or https://host/path"),
        BadInput(
            "tracing: {context: pass, otlp: \"http://c/v1/traces\"}",
            "cutover.yaml:1: tracing.otlp: does not go with context: pass, by which backends never hear of the "
                + "gateway's spans; accepted: context: continue or start"),
    ])
    func wrongValuesAreNamed(_ input: BadInput) {
        #expect(load(input.text + "\n" + minimal).messages == input.messages)
    }
}
