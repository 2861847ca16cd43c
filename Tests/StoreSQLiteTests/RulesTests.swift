import JournalRules
import TestSupport
import Testing

@testable import StoreSQLite

@Suite struct TheRulesOfTheJournal {
    private let directory = TemporaryDirectory()

    @Test(arguments: JournalRule.all)
    func theEmbeddedStoreKeeps(_ rule: JournalRule) throws {
        try rule.check { try SQLiteStore(directory: directory.path) }
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func theStoreSaysWhatTheRulesSay(seed: UInt64) throws {
        try AgainstPlainLists.play(seed: seed) { try SQLiteStore(directory: directory.path) }
    }
}
