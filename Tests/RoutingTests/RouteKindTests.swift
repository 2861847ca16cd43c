import Testing

@testable import Routing

/// Kinds are compared by a number of their own, which has to tell apart what their names tell apart.
@Test func everyKindOfRouteEqualsItselfAndNoOther() {
    for one in RouteKind.allCases {
        for other in RouteKind.allCases {
            #expect((one == other) == (one.rawValue == other.rawValue), "\(one), \(other)")
            #expect((one != other) == (one.rawValue != other.rawValue), "\(one), \(other)")
        }
    }
}
