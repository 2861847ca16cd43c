import Configuration
import ControlPlane
import Rollout
import Values

let bucketCommand = Command(
    "bucket", "Print where user ids fall in the rollout", operands: .atLeastOne("USER"),
    details: """
        Algorithm and salt come from --algorithm and --salt, else from --config, else they are murmur3 and `cutover`, \
        as in a gateway that was told nothing else.
        """,
    flags: [
        .value("algorithm", "NAME", "One of \(BucketingAlgorithm.allCases.map(\.rawValue).joined(separator: ", "))"),
        .value("salt", "TEXT", "The migration's salt"),
        .value("config", "FILE", "Take algorithm and salt from this configuration"),
    ],
    example: """
        $ cutover bucket 42 anna --salt my-migration
        user  algorithm  bucket  percent needed
        42    murmur3      2728           27.29
        anna  murmur3      2740           27.41
        """,
    run: { invocation in
        let bucketing = try bucketing(invocation)
        let placed = try invocation.operands.map { user in
            var user = user
            let isAnonymous = user.withUTF8 { bytes in
                bytes.baseAddress.map { Bucketing.isAnonymous($0, bytes.count) } ?? true
            }
            if isAnonymous { throw invocation.usage("\"\(user)\" is anonymous: an empty or blank id has no bucket") }
            return (user: user, position: bucketing.position(of: user))
        }
        invocation.console.print(
            invocation.wantsJSON
                ? placed.map { bucketJSON($0.user, bucketing.algorithm, $0.position).text }.joined(separator: "\n")
                : bucketTable(placed, bucketing.algorithm).lines(invocation.console).joined(separator: "\n"))
        return ExitStatus.done
    })

private func bucketing(_ invocation: Invocation) throws -> Bucketing {
    var user = UserSettings()
    if let file = invocation.value("config") {
        switch ConfigurationLoader.load(file: file) {
        case .ok(let settings, _): user = settings.user
        case .errors(let errors):
            throw CommandFailure("\(file) is not valid:\n" + errors.map(\.description).joined(separator: "\n"))
        }
    }
    if let name = invocation.value("algorithm") {
        guard let algorithm = BucketingAlgorithm(rawValue: name) else {
            let known = BucketingAlgorithm.allCases.map(\.rawValue)
            let near = nearest(to: name, among: known).map { "; did you mean \($0)?" } ?? ""
            throw invocation.usage(
                "--algorithm \"\(name)\" is not known; accepted: \(known.joined(separator: ", "))\(near)")
        }
        user.algorithm = algorithm
    }
    return Bucketing(algorithm: user.algorithm, salt: invocation.value("salt") ?? user.salt)
}

/// The object of contract §2: `{"user":"42","algorithm":"murmur3","bucket":617,"percent_needed":6.18}`.
private func bucketJSON(_ user: String, _ algorithm: BucketingAlgorithm, _ position: Position) -> JSONValue {
    .object([
        ("user", .string(user)), ("algorithm", .string(algorithm.rawValue)),
        ("bucket", .number(String(position.bucket))),
        ("percent_needed", .number(hundredthsText(position.percentNeededHundredths))),
    ])
}

private func bucketTable(_ placed: [(user: String, position: Position)], _ algorithm: BucketingAlgorithm) -> Table {
    var table = Table([("user", .left), ("algorithm", .left), ("bucket", .right), ("percent needed", .right)])
    for (user, position) in placed {
        table.rows.append([
            Cell(user), Cell(algorithm.rawValue), Cell(String(position.bucket)),
            Cell(hundredthsText(position.percentNeededHundredths)),
        ])
    }
    return table
}
