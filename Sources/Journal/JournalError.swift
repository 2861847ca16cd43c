/// Why the journal could not do what it was asked.
package struct JournalError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: String, Sendable, CaseIterable {
        /// Another connection holds the lock for longer than the busy time-out.
        case busy
        /// No space left on the disk.
        case full
        /// The file or its directory cannot be written.
        case readOnly
        /// The disk or the file system reported an error.
        case io
        /// Another process uses this data directory.
        case inUse
        /// The file is not a sound database.
        case damaged
        /// The file is a database, but not one of Cutover's.
        case foreign
        /// The file was written by a later version.
        case newerSchema
        /// The file cannot be opened (missing directory, permissions).
        case cannotOpen
        /// The database cannot be reached, or broke off.
        case unreachable
        /// Another gateway has taken this one's place in the shared store: its lease had run out.
        case fenced
        /// The journal was closed.
        case closed
        /// Anything else; the message says what.
        case other
    }

    package var kind: Kind
    /// One sentence for an operator. Holds no user data.
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { message }

    /// Whether the same work may succeed later without an operator.
    package var isTransient: Bool {
        switch kind {
        case .busy, .full, .readOnly, .io, .unreachable, .fenced, .other: true
        case .inUse, .damaged, .foreign, .newerSchema, .cannotOpen, .closed: false
        }
    }
}
