/// `cutover serve`: runs the gateway until it is told to stop.
func serve(_ invocation: Invocation) -> Int32 {
    invocation.console.printError("cutover serve: not built yet")
    return ExitStatus.refused
}
