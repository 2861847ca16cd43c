import CLinux
import Configuration
import Gateway
import Glibc
import Journal
import JournalThreads
import StorePostgres

/// Tries whether a process with other settings could start in the place of this one, while this one runs: after the drain there is no
/// way back, for the program before reads the same configuration as the next one. Takes for a moment what the start takes for good.
struct Rehearsal {
    /// With what this process has started.
    let inUse: Settings
    let sockets: ListeningSockets

    /// What would keep it from starting, in words for an operator; empty when nothing is known. Blocks, for names and the store.
    func obstacles(to fresh: Settings) -> [String] {
        var found: [String] = []
        for address in fresh.listeners.map(\.address) + [fresh.admin.address] {
            do throws(ListenError) { try sockets.tryOut(address) } catch { found.append(error.text) }
        }
        if !isSameFile(fresh.dataDirectory, inUse.dataDirectory) {
            // The lock ends with the object.
            do throws(JournalError) { _ = try DataDirectory(fresh.dataDirectory) } catch { found.append(error.message) }
        }
        if fresh.store != inUse.store, case .postgresql(let url) = fresh.store {
            // No more than a connection: to make the database ready is for the program that is going to use it.
            do throws(JournalError) { try PostgresConnection(PostgresAddress(url)).script("SELECT 1") } catch {
                found.append("store: \(error.message)")
            }
        }
        do throws(AccessLogError) { if let log = fresh.accessLog { _ = try AccessLogFile(log.destination) } } catch {
            found.append(error.text)
        }
        return found
    }

    /// The same directory by another name has this process's own lock.
    private func isSameFile(_ one: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(one, &first) == 0, stat(other, &second) == 0 else { return one == other }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }
}
