import CLinux
import ControlPlane
import HTTPClient

/// What a command knows of the world outside: the seam at which tests play terminal, environment, clock and gateway.
struct Surroundings: Sendable {
    /// Environment variables.
    var environment: [String: String]
    var console: Console
    /// Sends one HTTP request and waits for the answer.
    var exchange: @Sendable (HTTPRequest) throws(HTTPFailure) -> HTTPAnswer
    /// Seconds since 1970.
    var now: @Sendable () -> Int64
    /// Waits that many milliseconds; false ends a command that would go on for ever.
    var pause: @Sendable (_ milliseconds: UInt32) -> Bool
    /// Reads a whole file; `-` is standard input.
    var readFile: @Sendable (_ path: String) throws(FileFailure) -> [UInt8]

    /// The real ones.
    static func ofProcess() -> Surroundings {
        let environment = processEnvironment()
        return Surroundings(
            environment: environment,
            console: .ofProcess(
                noColour: !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb",
                columns: environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }),
            exchange: { request throws(HTTPFailure) in
                var request = request
                request.userAgent = "cutover/\(productVersion)"
                return try EasyHandle().exchange(request)
            },
            now: { clinux_wall_milliseconds() / 1000 },
            pause: { milliseconds in
                sleepMilliseconds(milliseconds)
                return true
            },
            readFile: { path throws(FileFailure) in try readWholeFile(path) })
    }
}
