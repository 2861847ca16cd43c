import ControlPlane
import Values

/// Every command, in the order of the overview.
let allCommands: [Command] =
    [serveCommand, checkCommand, demoCommand] + rolloutCommands + legacyCommands + watchingCommands + journalCommands
    + contentCommands
    + [bucketCommand, storeMigrateCommand, versionCommand]

let serveCommand = Command(
    "serve", "Run the gateway",
    details: "Flags override the file. With no file, --legacy and --new are enough.",
    flags: configurationFlags,
    example: """
        $ cutover serve --legacy http://127.0.0.1:7001 --new http://127.0.0.1:7002
        """,
    run: serve)

let demoCommand = Command(
    "demo", "Walk a whole rollout with two sample backends and real traffic",
    details: """
        Nothing outside a temporary directory is touched, and no other service is needed. It ends with 1 when anything \
        was not as promised: a client error, a record that differs, a lost write.
        """,
    flags: demoFlags,
    example: """
        $ cutover demo --fast
        """,
    run: demo)

let versionCommand = Command(
    "version", "Print the version",
    example: """
        $ cutover version
        cutover \(productVersion)
        """,
    run: { invocation in
        let json = JSONValue.object([("name", "cutover"), ("version", .string(productVersion))])
        invocation.console.print(invocation.wantsJSON ? json.text : "cutover \(productVersion)")
        return ExitStatus.done
    })
