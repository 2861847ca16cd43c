/// Why a text is no value of its type.
struct ValueProblem: Error, Equatable {
    /// What is wrong, worded so that the quoted value may follow: `not a duration`.
    var problem: String
    var accepted: String?
    var suggestion: String?

    init(_ problem: String, accepted: String? = nil, suggestion: String? = nil) {
        self.problem = problem
        self.accepted = accepted
        self.suggestion = suggestion
    }
}

/// Readers of single values: text in, a value or the reason out. Used for the file and for flags alike.
enum Value {}
