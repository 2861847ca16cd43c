/// The demo cannot go on: one sentence that says why.
package struct DemoFailure: Error, Sendable {
    package let message: String

    init(_ message: String) { self.message = message }
}
