internal import Glibc
internal import Synchronization
package import Journal

/// The directory that holds the embedded store and the tokens, locked for one process. The lock ends with this object, or with
/// the process.
package final class DataDirectory: Sendable {
    package let path: String
    private let lock: Int32
    /// Inode of the database file, from the first look on.
    private let identity = Mutex<UInt?>(nil)

    /// Name of the database file in the directory.
    package static let databaseName = "journal.sqlite"

    package var databasePath: String { path + "/" + Self.databaseName }

    /// Creates the directory (mode 0700; its parent must exist) and takes its lock.
    package init(_ path: String) throws(JournalError) {
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
    package func createDatabaseFile() throws(JournalError) {
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

    /// A name that stays this directory's for ever: who a gateway is to the others of a shared store, over restarts. Made at the
    /// first call.
    package func instanceName() throws(JournalError) -> String { try Self.instanceName(in: path) }

    /// The same for a directory whose lock somebody else in this process holds.
    package static func instanceName(in path: String) throws(JournalError) -> String {
        let file = path + "/instance"
        let existing = open(file, O_RDONLY | O_CLOEXEC)
        if existing >= 0 {
            defer { close(existing) }
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(existing, &bytes, bytes.count)
            let name = bytes.prefix(max(0, count)).filter { $0 > 0x20 && $0 < 0x7f }
            if name.count >= 16 { return String(decoding: name, as: UTF8.self) }
        }
        var random = [UInt8](repeating: 0, count: 16)
        guard getentropy(&random, random.count) == 0 else {
            throw JournalError(.other, "the system gives no random bytes for \(file)")
        }
        let digits = Array("0123456789abcdef".utf8)
        let name = random.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        // Under another name until it is whole and durable: a name that changed would leave the old one's changes to wait.
        let draft = file + ".new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw JournalError(.cannotOpen, "cannot create \(file): \(reason())") }
        defer { close(descriptor) }
        guard write(descriptor, name, name.count) == name.count, fsync(descriptor) == 0, rename(draft, file) == 0 else {
            throw JournalError(.cannotOpen, "cannot write \(file): \(reason())")
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Whether the database file still has its name, and is still the same file. One system call.
    package var holdsDatabase: Bool {
        var now = stat()
        guard stat(databasePath, &now) == 0 else { return false }
        return identity.withLock { known in
            if known == nil { known = now.st_ino }
            return known == now.st_ino
        }
    }

    /// What to say when it has not.
    package var isGone: JournalError {
        JournalError(
            .io, "\(databasePath) was removed or replaced while the gateway runs: nothing that it keeps would last")
    }

    /// Takes group and others off a database file that is known to be ours.
    package func restrictDatabaseFile() throws(JournalError) {
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
