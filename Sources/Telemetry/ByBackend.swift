/// One value for each backend.
package struct ByBackend<Value: Sendable>: Sendable {
    package var legacy: Value
    package var new: Value

    /// Two values in the contract's order.
    package init(legacy: Value, new: Value) {
        self.legacy = legacy
        self.new = new
    }

    /// The value of a backend.
    package subscript(backend: Backend) -> Value {
        get { backend == .legacy ? legacy : new }
        set {
            if backend == .legacy { legacy = newValue } else { new = newValue }
        }
    }
}

extension ByBackend: Equatable where Value: Equatable {}
