import CutoverCLI
import Glibc

// One free function: closures written in top-level code are isolated to the main actor and die when C calls them elsewhere.
exit(runCutover(arguments: Array(CommandLine.arguments.dropFirst())))
