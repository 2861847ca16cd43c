internal import Journal
internal import Rollout

/// The facts of a group, one row per change, as the columns that `keep_legs` and `keep_answers` take. What was posted later
/// counts: an answer knows both legs as they stand, and a leg after it stands in its place.
struct GroupFacts {
    private struct Fact {
        var sequence: Sequence64
        var legacy: LegStatus?
        var new: LegStatus?
        var answer: Answer?
    }

    private struct Answer {
        var servedBy: Side?
        var answer: StoredAnswer?
        var lastStatus: Int?
        var isRevisionAccepted: Bool

        var isTooLong: Bool { answer.map { $0.isBodyOmitted || $0.body.count > StoredAnswer.bodyLimitBytes } ?? false }
    }

    private var facts: [Fact] = []

    init(_ updates: [JournalUpdate]) {
        var places: [Sequence64: Int] = [:]
        for update in updates {
            let place = places[update.sequence] ?? facts.count
            if place == facts.count {
                places[update.sequence] = place
                facts.append(Fact(sequence: update.sequence))
            }
            switch update {
            case .leg(_, .legacy, let status): facts[place].legacy = status
            case .leg(_, .new, let status): facts[place].new = status
            case .answered(_, let servedBy, let legs, let answer, let revisionAccepted):
                facts[place].legacy = legs.legacy
                facts[place].new = legs.new
                facts[place].answer = Answer(
                    servedBy: answer?.servedBy ?? servedBy, answer: answer,
                    lastStatus: answer?.status ?? servedBy.flatMap { legs[$0].lastStatus },
                    isRevisionAccepted: revisionAccepted)
            }
        }
        // One order for everybody who locks rows.
        facts.sort { $0.sequence < $1.sequence }
    }

    /// Parameters of `keep_legs`; nil when there is nothing for it.
    func legs(_ owner: Int64) -> PostgresParameters? {
        let only = facts.filter { $0.answer == nil }
        guard !only.isEmpty else { return nil }
        let parameters = PostgresParameters().int64(owner).int64s(only.map(\.sequence))
        return Self.legs(Self.legs(parameters, only.map(\.legacy)), only.map(\.new))
    }

    /// Parameters of `keep_answers`; nil when there is nothing for it.
    func answers(_ owner: Int64) -> PostgresParameters? {
        let answered = facts.filter { $0.answer != nil }
        guard !answered.isEmpty else { return nil }
        let answers = answered.map(\.answer)
        let parameters = PostgresParameters().int64(owner).int64s(answered.map(\.sequence))
            .int32s(answers.map { $0?.lastStatus }).int16s(answers.map { ($0?.servedBy).map { Int($0.rawValue) } })
            .booleans(answers.map { $0?.answer != nil })
            .byteArrays(answers.map { $0?.answer?.headerLines })
            .byteArrays(answers.map { ($0?.isTooLong ?? true) ? nil : $0?.answer?.body })
            .booleans(answers.map { $0?.isRevisionAccepted ?? false })
        return Self.legs(Self.legs(parameters, answered.map(\.legacy)), answered.map(\.new))
    }

    private static func legs(_ parameters: PostgresParameters, _ legs: [LegStatus?]) -> PostgresParameters {
        parameters.texts(legs.map { $0?.state.rawValue }).int32s(legs.map { $0?.attempts })
            .int32s(legs.map { $0?.refusals }).int32s(legs.map { $0?.lastStatus })
            .int64s(legs.map { $0?.nextAttemptMilliseconds })
    }
}
