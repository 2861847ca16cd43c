package import Routing

/// One line a request: where, of which requests, and what it must not tell.
package struct AccessLogSettings: Sendable, Equatable {
    package enum Destination: Sendable, Equatable {
        case file(String)
        case standardOutput
        case standardError
    }

    package enum Format: String, Sendable, CaseIterable {
        case json
        /// As nginx and Apache write it; without the two headers that it has room for.
        case combined
    }

    /// The client's address.
    package enum Client: String, Sendable, CaseIterable {
        /// Its network: /24 of IPv4, /48 of IPv6.
        case masked
        case plain
        case none
    }

    /// The user's id.
    package enum User: String, Sendable, CaseIterable {
        case none
        /// A hash under a key of the data directory.
        case hash
        case plain
    }

    /// The query of a target.
    package enum Query: String, Sendable, CaseIterable {
        /// The names of its parameters.
        case names
        case plain
        case none
    }

    package var destination: Destination
    package var format = Format.json
    /// Share of requests that get a line, in hundredths of a percent.
    package var sampleHundredths = 10_000
    /// Statuses from here on get a line whatever the sample says.
    package var alwaysFrom = 500
    package var client = Client.masked
    package var user = User.none
    package var query = Query.names
    /// Paths whose `{user_id}` is left out, besides those that users are found by.
    package var redact: [PathPattern] = []

    package init(destination: Destination) { self.destination = destination }
}
