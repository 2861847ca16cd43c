import Journal
import Rollout
import Testing

/// What holds for the rollout's state, events and pins.
package enum StateRules {
    package static let all = [
        JournalRule("stateEventsAndPinsSurviveReopening", stateEventsAndPinsSurviveReopening),
        JournalRule("anOldGenerationChangesNothing", anOldGenerationChangesNothing),
        JournalRule("unpinningSomebodyWhoIsNotPinnedIsNoEvent", unpinningSomebodyWhoIsNotPinnedIsNoEvent),
    ]

    private static func record(_ generation: Int64, percent: Int) -> RolloutRecord {
        RolloutRecord(
            generation: generation, plan: "my-migration", stage: "canary", percentHundredths: percent, state: "running",
            sinceMilliseconds: 5, details: "{}")
    }

    private static func event(_ action: String) -> RolloutEvent {
        RolloutEvent(atMilliseconds: 5, actor: "operator", action: action, before: "0", after: "1", reason: "because")
    }

    static func stateEventsAndPinsSurviveReopening(_ open: JournalOpener) throws {
        do {
            let store = try open()
            #expect(try store.loadRollout() == nil)
            #expect(try store.saveRollout(record(1, percent: 100), replacing: 0, event: event("promote")))
            #expect(try store.saveRollout(record(2, percent: 1_000), replacing: 1, event: event("percent")))
            try store.setPin(Pin(user: "anna", side: .new, sinceMilliseconds: 6), event: event("pin"))
            try store.setPin(Pin(user: "bert", side: .new, sinceMilliseconds: 7), event: event("pin"))
            try store.setPin(Pin(user: "bert", side: .legacy, sinceMilliseconds: 8), event: event("pin"))
        }
        let store = try open()
        #expect(try store.loadRollout() == record(2, percent: 1_000))
        #expect(
            try store.pins() == [
                Pin(user: "anna", side: .new, sinceMilliseconds: 6),
                Pin(user: "bert", side: .legacy, sinceMilliseconds: 8),
            ])
        let events = try store.events(before: nil, limit: 10)
        #expect(events.map(\.action) == ["pin", "pin", "pin", "percent", "promote"])
        #expect(events.map(\.sequence) == [5, 4, 3, 2, 1])
        #expect(events[0].actor == "operator" && events[0].reason == "because" && events[0].atMilliseconds == 5)
        #expect(try store.events(before: 4, limit: 2).map(\.action) == ["pin", "percent"])
    }

    static func anOldGenerationChangesNothing(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.saveRollout(record(1, percent: 100), replacing: 0, event: event("promote")))
        #expect(try !store.saveRollout(record(9, percent: 900), replacing: 0, event: event("late")))
        #expect(try store.loadRollout() == record(1, percent: 100))
        #expect(try store.events(before: nil, limit: 10).map(\.action) == ["promote"])
    }

    static func unpinningSomebodyWhoIsNotPinnedIsNoEvent(_ open: JournalOpener) throws {
        let store = try open()
        try store.setPin(Pin(user: "anna", side: .new, sinceMilliseconds: 6), event: event("pin"))
        #expect(try store.removePin(user: "anna", event: event("unpin")))
        #expect(try !store.removePin(user: "anna", event: event("unpin")))
        #expect(try store.pins().isEmpty)
        try store.appendEvent(event("start"))
        #expect(try store.events(before: nil, limit: 10).map(\.action) == ["start", "unpin", "pin"])
    }
}
