/// Something that is wrong with a file that the configuration names, found by whoever knows what has to be in it.
package struct FileFinding: Error, Sendable, Equatable {
    /// The key that names the file, or the section about it.
    package var keyPath: String
    /// The file.
    package var file: String
    /// In words that a file's name may follow.
    package var problem: String
    /// It can be used all the same.
    package var isWarning: Bool
    package var accepted: String?

    package init(
        keyPath: String, file: String, problem: String, isWarning: Bool = false, accepted: String? = nil
    ) {
        self.keyPath = keyPath
        self.file = file
        self.problem = problem
        self.isWarning = isWarning
        self.accepted = accepted
    }
}

/// Looks into the files that settings name: certificates and keys, which this floor cannot judge.
package typealias FileInspection = @Sendable (Settings) -> [FileFinding]
