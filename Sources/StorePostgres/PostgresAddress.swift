internal import CPostgres
package import Journal

/// Where the shared store is, as libpq understands it: `postgresql://user@host:port/database?sslmode=…`, or `key=value` pairs.
/// What it leaves open comes from where libpq looks by itself: PGHOST, PGPASSFILE, service files.
package struct PostgresAddress: Sendable {
    /// May hold a password: never printed.
    let connectionString: String
    /// `host:port, database "name"`, for messages. Holds no password.
    package let place: String

    /// - Throws: `cannotOpen` when libpq does not understand the text. The text is not repeated: it may hold a password.
    package init(_ text: String) throws(JournalError) {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            cpostgres_free(message)
            throw JournalError(
                .cannotOpen,
                "the address of the PostgreSQL store is not valid; accepted: postgresql://user@host:port/database?key=value"
            )
        }
        defer { PQconninfoFree(options) }
        var given: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { given[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        connectionString = text
        place = Self.place(host: given["host"] ?? given["hostaddr"], port: given["port"], database: given["dbname"])
    }

    /// How an operator would say it.
    static func place(host: String?, port: String?, database: String?) -> String {
        var text = "PostgreSQL at " + (host.flatMap { $0.isEmpty ? nil : $0 } ?? "its default address")
        if let port, !port.isEmpty { text += ":" + port }
        if let database, !database.isEmpty { text += ", database " + database }
        return text
    }
}
