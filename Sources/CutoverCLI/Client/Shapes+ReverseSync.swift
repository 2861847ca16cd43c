/// `GET reverse-sync`.
struct SyncReport: Decodable {
    struct Verification: Decodable {
        var records: Int?
        var equal: Int?
        var different: Int?
        var unverifiable: Int?
        var inFlight: Int?

        private enum CodingKeys: String, CodingKey {
            case records, equal, different, unverifiable
            case inFlight = "in_flight"
        }
    }
    struct Difference: Decodable {
        struct Side: Decodable {
            var status: Int?
        }
        var seq: Int?
        var target: String?
        var paths: [String]?
        var legacy: Side?
        var new: Side?
    }
    var run: Int?
    var phase: String?
    /// It runs because legacy is written again, not because somebody asked.
    var automatic: Bool?
    var total: Int?
    var done: Int?
    /// Changes a second.
    var rate: Double?
    var secondsLeft: Double?
    var parked: Int?
    var parkedSeqs: [Int]?
    var verification: Verification?
    var differences: [Difference]?
    var failure: String?
    /// All is well; nil before the end.
    var clean: Bool?

    private enum CodingKeys: String, CodingKey {
        case run, phase, automatic, total, done, rate, parked, verification, differences, failure, clean
        case secondsLeft = "seconds_left"
        case parkedSeqs = "parked_seqs"
    }

    var isRunning: Bool { ["counting", "sending", "verifying"].contains(phase ?? "") }
}

/// What `POST reverse-sync` with `dry_run` answers.
struct MissingReport: Decodable {
    var missing: Int?
    var complete: Bool?
    var older: Int?
    var oldest: String?
    var newest: String?
    var parked: Int?
}
