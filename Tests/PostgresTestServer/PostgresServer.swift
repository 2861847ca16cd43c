import Glibc
package import Journal
package import StorePostgres
import Synchronization

/// A real PostgreSQL server of the tests' own: a data directory and a Unix socket of its own, gone with the process.
///
/// A small shell looks after it. It reads commands from a pipe; when the pipe ends, because this process has ended in whatever
/// way, it stops the server and removes the directory.
package final class PostgresServer: Sendable {
    /// One for all tests that do no harm to it. It does not sync: they test rules, not the disk.
    package static let shared = PostgresServer(settings: ["fsync=off", "max_connections=200"])

    package let directory: String
    private let commands: Int32
    private let process: pid_t
    private let databases = Mutex(0)

    /// - Parameter settings: `name=value` of postgresql.conf.
    package init(settings: [String] = []) {
        var template = Array("/tmp/cutover-postgres-XXXXXX".utf8CString)
        directory = String(cString: mkdtemp(&template))
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0)
        // Close-on-exec: a server started later must not hold this pipe open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        commands = ends[1]
        let arguments =
            ["/bin/sh", "-c", Self.keeper, "keeper", directory]
            + (["listen_addresses=", "unix_socket_directories=\(directory)"] + settings).flatMap { ["-c", $0] }
        process = Self.spawn(arguments, input: ends[0])
        Glibc.close(ends[0])
        start()
    }

    deinit {
        Glibc.close(commands)
        var status: Int32 = 0
        waitpid(process, &status, 0)
    }

    private static let keeper = """
        directory=$1; shift
        bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
        server=
        # PostgreSQL does not run as root; Debian has a user for it.
        if [ "$(id -u)" = 0 ]; then
            chown postgres "$directory"
            as="setpriv --reuid=postgres --regid=postgres --clear-groups"
        else
            as=
        fi
        cd "$directory"
        stop() { [ -n "$server" ] && kill -QUIT "$server" && wait "$server"; server=; }
        $as "$bin/initdb" -D "$directory/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >log 2>&1
        while read -r word; do
            case $word in
                start) stop; $as "$bin/postgres" -D "$directory/data" "$@" >>log 2>&1 </dev/null & server=$! ;;
                stop) stop; echo stopped >stopped ;;
            esac
        done
        stop
        cd /
        rm -rf "$directory"
        """

    private static func spawn(_ arguments: [String], input: Int32) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        // A group of its own: an interrupt at the terminal must not kill the keeper before it has cleaned up.
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        defer { posix_spawnattr_destroy(&attributes) }
        var pid = pid_t()
        let copies = arguments.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        precondition(posix_spawn(&pid, "/bin/sh", &actions, &attributes, copies, environ) == 0)
        return pid
    }

    private func command(_ word: String) {
        let bytes = Array((word + "\n").utf8)
        precondition(Glibc.write(commands, bytes, bytes.count) == bytes.count)
    }

    /// Starts it (again) and waits until it answers.
    package func start() {
        command("start")
        // A minute: the directory is made on the way, on a machine that may be busy.
        for _ in 0..<300 {
            if let connection = try? connection(to: "postgres"), (try? connection.script("SELECT 1")) != nil { return }
            usleep(200_000)
        }
        fatalError("PostgreSQL did not start; see \(directory)/log")
    }

    /// Ends it at once, as a crash would: no checkpoint, connections broken.
    package func stop() {
        let mark = directory + "/stopped"
        unlink(mark)
        command("stop")
        while access(mark, F_OK) != 0 { usleep(10_000) }
        unlink(mark)
    }

    /// The address of one of its databases.
    package func url(_ database: String) -> String { "postgresql://postgres@/\(database)?host=\(directory)" }

    package func connection(to database: String) throws(JournalError) -> PostgresConnection {
        PostgresConnection(try PostgresAddress(url(database)))
    }

    /// Makes a database for one test, and returns its name.
    package func makeDatabase() throws -> String {
        let name = databases.withLock { count in
            count += 1
            return "test\(count)"
        }
        try connection(to: "postgres").script("CREATE DATABASE \(name)", timeoutMilliseconds: 60_000)
        return name
    }
}
