internal import CLinux
internal import Gateway
internal import Glibc
internal import Journal
internal import JournalThreads
internal import StorePostgres
internal import SyncModel
internal import SyncStore

/// The running service: store, threads and listener.
///
/// Limits: `readers` reads at a time with `readsMax` waiting, `objectThreads` objects at a time with `objectsMax` waiting; beyond them an answer is 503.
final class SyncServer: Sendable {
    private static let readers = 2
    private static let readsMax = 256
    private static let objectThreads = 4
    private static let objectsMax = 64

    /// Where it listens, with the port that it has got.
    let address: String
    private let service: LocalService
    private let desk: SyncDesk
    /// Holds the lock of the directory.
    private let directory: DataDirectory

    init(_ options: SyncOptions) throws(StartFailure) {
        let requestLog: RequestLog
        do throws(JournalError) {
            directory = try DataDirectory(options.data)
            requestLog = try RequestLog(options.requestLog, slowMilliseconds: options.slowMilliseconds)
            let counts = SyncCounts()
            let (writer, readers) = try Self.store(options, counts)
            desk = SyncDesk(
                writer: writer, readers: readers, objects: try Self.objects(options), log: requestLog, counts: counts)
        } catch {
            throw StartFailure(text: error.message)
        }
        var tls: AdminTLS?
        if let certificate = options.certificateFile, let key = options.keyFile {
            do throws(TLSMaterialError) { tls = try AdminTLS(certificateFile: certificate, keyFile: key) } catch {
                throw StartFailure(text: error.text)
            }
        }
        service = LocalService(
            bodyMaxBytes: SyncDesk.objectBytesMax, commonFields: [("Cache-Control", "no-store")]
        ) { [desk] request in await desk.answer(request) }
        desk.start()
        do throws(ListenError) { try service.start(address: options.listen, tls: tls) } catch {
            desk.stop()
            throw StartFailure(text: error.text)
        }
        let host = options.listen.split(separator: ":", omittingEmptySubsequences: false).dropLast()
        address = "\(tls == nil ? "http" : "https")://\(host.joined(separator: ":")):\(service.port)"
    }

    /// Answers nobody any more, keeps what has arrived, and returns when that is done.
    func stop() {
        service.stop()
        desk.stop()
    }

    private static func store(
        _ options: SyncOptions, _ counts: SyncCounts
    ) throws(JournalError) -> (SyncWriter, WorkThreads<any SyncReading>) {
        if let store = options.store {
            let address = try PostgresAddress(store)
            let writer = SyncWriter(store: try PostgresSyncStore(address), onGroup: { counts.group($0, $1) })
            let tools: [any SyncReading] = (0..<readers).map { _ in PostgresSyncReader(address) }
            return (writer, WorkThreads(name: "sync-reader", tools: tools, limit: readsMax))
        }
        let path = options.data + "/sync.sqlite"
        // With mode 0600 before SQLite makes it otherwise.
        close(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
        let writer = SyncWriter(store: try SQLiteSyncStore(path: path), onGroup: { counts.group($0, $1) })
        var tools: [any SyncReading] = []
        for _ in 0..<readers { tools.append(try SQLiteSyncReader(path: path)) }
        return (writer, WorkThreads(name: "sync-reader", tools: tools, limit: readsMax))
    }

    private static func objects(_ options: SyncOptions) throws(JournalError) -> WorkThreads<any ObjectStoring> {
        let place = options.objects ?? options.data + "/objects"
        var tools: [any ObjectStoring] = []
        do throws(ObjectFailure) {
            for _ in 0..<objectThreads {
                guard place.hasPrefix("s3:") else {
                    tools.append(try FolderObjects(place))
                    continue
                }
                guard let bucket = BucketPlace(place) else {
                    throw ObjectFailure(
                        text: "--objects is no place; accepted: s3://BUCKET/PREFIX?endpoint=URL&region=NAME")
                }
                tools.append(try BucketObjects(bucket) { name in getenv(name).map { String(cString: $0) } })
            }
        } catch {
            throw JournalError(.cannotOpen, error.text)
        }
        return WorkThreads(name: "sync-objects", tools: tools, limit: objectsMax)
    }
}
