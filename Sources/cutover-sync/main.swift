import Glibc
import SyncService

// One free function: closures written in top-level code are isolated to the main actor and die when C calls them elsewhere.
exit(runSync(arguments: Array(CommandLine.arguments.dropFirst())))
