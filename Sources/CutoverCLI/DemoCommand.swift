/// `cutover demo`: two sample backends, the gateway and traffic, through a whole rollout.
func demo(_ invocation: Invocation) -> Int32 {
    invocation.console.printError("cutover demo: not built yet")
    return ExitStatus.refused
}
