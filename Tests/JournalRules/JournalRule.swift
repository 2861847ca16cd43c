package import Journal
import Testing

/// Opens the store of a test. Called again after the last store was let go of, it opens what that one has left.
package typealias JournalOpener = () throws -> any JournalStore

/// Something that every store of the journal does alike. The tests of each run all of them: `JournalRule.all`.
package struct JournalRule: Sendable, CustomTestStringConvertible {
    package let name: String
    package let check: @Sendable (JournalOpener) throws -> Void

    init(_ name: String, _ check: @escaping @Sendable (JournalOpener) throws -> Void) {
        self.name = name
        self.check = check
    }

    package var testDescription: String { name }

    package static let all =
        KeyRules.all + RevisionRules.all + StateRules.all + ChangeRules.all + HistoryRules.all
}
