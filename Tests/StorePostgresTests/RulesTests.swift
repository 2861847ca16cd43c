import JournalRules
import Testing

@testable import StorePostgres

@Suite struct TheRulesOfTheJournal {
    @Test(arguments: JournalRule.all)
    func theSharedStoreKeeps(_ rule: JournalRule) throws {
        let database = try SharedDatabase()
        let membership = try database.join()
        try rule.check { try database.store(membership) }
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func theStoreSaysWhatTheRulesSay(seed: UInt64) throws {
        let database = try SharedDatabase()
        let membership = try database.join()
        try AgainstPlainLists.play(seed: seed) { try database.store(membership) }
    }
}
