/// How the demo is to run.
package struct DemoOptions: Sendable {
    /// Users of the sample service.
    package var users = 300
    /// Requests a second of all clients together; nil is one a user.
    package var rate: Int?
    /// Shorter stages, for machines that only want to know whether it works.
    package var isFast = false
    /// The data directory and the backends' files are left behind.
    package var keepsFiles = false
    /// Backends, gateway and traffic go on after the story until Ctrl-C.
    package var stays = false

    package init() {}

    /// How long a stage is watched. The window of the figures is one second shorter, so that a stage's figures are its own.
    var stageSeconds: Double { isFast ? 3 : 9 }
    var windowSeconds: Int { isFast ? 2 : 8 }
    /// How long new is away.
    var outageSeconds: Double { isFast ? 2 : 4 }
}

/// Where the story is told.
package struct DemoOutput: Sendable {
    /// Whether a line may be drawn over.
    package var isTerminal: Bool
    /// Whether there are colours.
    package var hasColour: Bool
    /// Writes text as it is.
    package var write: @Sendable (String) -> Void

    package init(isTerminal: Bool, hasColour: Bool, write: @escaping @Sendable (String) -> Void) {
        self.isTerminal = isTerminal
        self.hasColour = hasColour
        self.write = write
    }
}
