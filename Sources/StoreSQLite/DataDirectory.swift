internal import Glibc
internal import Journal

/// The directory that holds the embedded store, locked for one process. The lock ends with this object, or with the process.
final class DataDirectory {
    let path: String
    private let lock: Int32

    /// Name of the database file in the directory.
    static let databaseName = "journal.sqlite"

    var databasePath: String { path + "/" + Self.databaseName }

    /// Creates the directory (mode 0700; its parent must exist) and takes its lock.
    init(_ path: String) throws(JournalError) {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw JournalError(.cannotOpen, "cannot create data directory \(path): \(Self.reason())")
        }
        let file = path + "/lock"
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw JournalError(.cannotOpen, "cannot open \(file): \(Self.reason())") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let owner = Self.owner(descriptor)
            close(descriptor)
            throw JournalError(.inUse, "data directory \(path) is in use by \(owner)")
        }
        self.path = path
        lock = descriptor
        // Only for the message above: who holds the lock is known to the kernel, not to the file.
        let text = Array("\(getpid())\n".utf8)
        if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, text, text.count, 0) }
    }

    deinit { close(lock) }

    /// Creates the database file with mode 0600 when it is missing. SQLite gives its side files the same mode.
    func createDatabaseFile() throws(JournalError) {
        let descriptor = open(databasePath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw JournalError(.cannotOpen, "cannot open \(databasePath): \(Self.reason())")
        }
        close(descriptor)
        // A synced database in a directory that forgets its name is lost all the same.
        for directory in [path, path + "/.."] {
            let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            fsync(descriptor)
            close(descriptor)
        }
    }

    /// Takes group and others off a database file that is known to be ours.
    func restrictDatabaseFile() throws(JournalError) {
        guard chmod(databasePath, 0o600) == 0 else {
            throw JournalError(.cannotOpen, "cannot set the mode of \(databasePath): \(Self.reason())")
        }
    }

    private static func owner(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        let digits = bytes.prefix(max(0, count)).prefix { $0 >= 0x30 && $0 <= 0x39 }
        return digits.isEmpty ? "another process" : "process " + String(decoding: digits, as: UTF8.self)
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
