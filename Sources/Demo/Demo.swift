/// Runs the demo: two sample backends, the gateway and traffic, through a whole rollout. Blocks until it is over, with
/// `stays` until Ctrl-C.
///
/// - Returns: what was found; see `isAsPromised`.
/// - Throws: what the demo cannot go on without, and an interruption.
package func runDemo(_ options: DemoOptions, output: DemoOutput) throws(DemoFailure) -> DemoReport {
    Interruption.watch()
    let narrator = Narrator(output)
    let directory = try makeTemporaryDirectory()
    defer {
        if options.keepsFiles {
            narrator.line("\nThe files are in \(directory)")
        } else {
            removeDirectory(directory)
        }
    }
    let story = try Story(options: options, directory: directory, narrator: narrator)
    defer { story.finish() }
    let report = try story.tell()
    try story.stay()
    return report
}
