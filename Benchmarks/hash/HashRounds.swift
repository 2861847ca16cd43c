import Comparison
import Glibc

/// Hashes corpora for `Benchmarks/hash.py`: each line of standard input is the number of a file of the command line, and
/// is answered with the bytes per second of processor time that one round of it took.
///
/// A file holds documents one after the other, parted by the record separator of RFC 7464. With `once` instead of the
/// lines each document of the first file is hashed once, for counting instructions; with `digest` its hashes are printed.
@main
struct HashRounds {
    private static let roundNanoseconds: UInt64 = 30_000_000
    private let hasher = ContentHasher()

    static func main() {
        let corpora = CommandLine.arguments.dropFirst(2).map(documents)
        guard let mode = CommandLine.arguments.dropFirst().first, let first = corpora.first else {
            fatalError("usage: HashBenchmark rounds|once|digest FILE...")
        }
        let rounds = HashRounds()
        switch mode {
        case "once":
            _ = rounds.pass(first)
        case "digest":
            for document in first {
                print(rounds.hasher.hash(document, isJSON: true).hex)
            }
        default:
            while let line = readLine(), let index = Int(line), corpora.indices.contains(index) {
                print(rounds.rate(corpora[index]))
                fflush(nil)  // all streams: `stdout` is a variable to Swift
            }
        }
    }

    /// The hashes of all documents, folded into a word so that none can be left out.
    private func pass(_ documents: [[UInt8]]) -> UInt64 {
        var folded: UInt64 = 0
        for document in documents {
            folded ^= hasher.hash(document, isJSON: true).low
        }
        return folded
    }

    private func rate(_ documents: [[UInt8]]) -> Double {
        let bytes = documents.reduce(0) { $0 + $1.count }
        var passes = 0
        let start = Self.processorTime()
        var spent: UInt64 = 0
        var folded: UInt64 = 0
        repeat {
            folded &+= pass(documents)
            passes += 1
            spent = Self.processorTime() - start
        } while spent < Self.roundNanoseconds
        guard folded != 1 else { return 0 }
        return Double(passes * bytes) / Double(spent) * 1e9
    }

    private static func processorTime() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    private static func documents(_ path: String) -> [[UInt8]] {
        guard let file = fopen(path, "r") else { fatalError("cannot read \(path)") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while true {
            let part = [UInt8](unsafeUninitializedCapacity: 1 << 20) { $1 = fread($0.baseAddress, 1, $0.count, file) }
            if part.isEmpty { break }
            bytes += part
        }
        return bytes.split(separator: 0x1E).map(Array.init)
    }
}
