internal import Configuration

/// What the command line of `cutover-sync serve` says.
struct SyncOptions: Equatable {
    var listen = "127.0.0.1:7002"
    var data = "./cutover-sync-data"
    /// nil: the embedded store. May hold a password: never printed.
    var store: String?
    /// nil: a folder in the data directory.
    var objects: String?
    var requestLog: String?
    var slowMilliseconds: Int64 = 200
    var certificateFile: String?
    var keyFile: String?
}

/// What a command line asks for.
enum SyncCommand: Equatable {
    case serve(SyncOptions)
    case help
    /// It is wrong, and this is why.
    case usage(String)
}

extension SyncCommand {
    static let helpText = """
        cutover-sync serve [--listen ADDR] [--data DIR] [--store URL] [--objects PLACE] [--log FILE] [--slow 200ms]
                           [--tls-certificate FILE --tls-key FILE]

        The sync service: records with revisions, a change feed, exports and objects.

          --listen ADDR      where it listens; port 0 is any free one (127.0.0.1:7002)
          --data DIR         directory of the embedded store and of the objects (./cutover-sync-data)
          --store URL        postgresql://user@host/database in place of the embedded store
          --objects PLACE    a directory, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME with the credentials in
                             AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (DIR of --data, /objects)
          --log FILE         one line of JSON for each request; - is standard error
          --slow DURATION    what the store takes longer for is logged as slow (200ms)
          --tls-certificate FILE, --tls-key FILE
                             serves HTTPS

        Example: cutover-sync serve --listen 127.0.0.1:7002 --data ./sync
        """

    init(arguments: [String]) {
        var rest = arguments[...]
        guard let command = rest.popFirst() else {
            self = .usage("a command is missing; accepted: serve")
            return
        }
        if ["--help", "-h", "help"].contains(command) || rest.contains("--help") || rest.contains("-h") {
            self = .help
            return
        }
        guard command == "serve" else {
            self = .usage("unknown command \"\(command)\"; accepted: serve")
            return
        }
        var options = SyncOptions()
        while let flag = rest.popFirst() {
            let parts = flag.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard Self.flags.contains(name) else {
                self = .usage("unknown flag \"\(name)\"; accepted: \(Self.flags.joined(separator: ", "))")
                return
            }
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst(), !value.isEmpty else {
                self = .usage("\(name) needs a value")
                return
            }
            guard options.set(name, to: value) else {
                self = .usage("\(name): \"\(value)\" is no duration; accepted: 250ms, 10s, 2h, 90d")
                return
            }
        }
        guard (options.certificateFile == nil) == (options.keyFile == nil) else {
            self = .usage("--tls-certificate and --tls-key belong together")
            return
        }
        self = .serve(options)
    }

    private static let flags = [
        "--listen", "--data", "--store", "--objects", "--log", "--slow", "--tls-certificate", "--tls-key",
    ]
}

extension SyncOptions {
    /// - Returns: false when the value cannot be.
    fileprivate mutating func set(_ flag: String, to value: String) -> Bool {
        switch flag {
        case "--listen": listen = value
        case "--data": data = value
        case "--store": store = value == "sqlite" ? nil : value
        case "--objects": objects = value
        case "--log": requestLog = value
        case "--tls-certificate": certificateFile = value
        case "--tls-key": keyFile = value
        default:
            guard let duration = durationMilliseconds(value) else { return false }
            slowMilliseconds = duration
        }
        return true
    }
}
