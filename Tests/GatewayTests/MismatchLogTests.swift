import Testing

@testable import Gateway

private func mismatch(_ number: Int) -> Mismatch {
    Mismatch(
        atMilliseconds: Int64(number), kind: "content", method: "GET", target: "/\(number)", paths: [],
        legacy: .init(status: 200, hash: ""), new: .init(status: 200, hash: ""))
}

@Test(arguments: [0, 1, 999, 1000, 1001, 2500])
func theNewestMismatchesAreKeptAndPagedNewestFirst(count: Int) {
    let log = MismatchLog()
    let forgotten = (0..<count).count { log.record(mismatch($0 + 1)) }
    var seen: [Mismatch] = []
    var cursor: Int64?
    while true {
        let page = log.page(before: cursor, limit: 7)
        guard let last = page.last else { break }
        seen += page
        cursor = last.sequence
    }
    let kept = min(count, MismatchLog.limit)
    #expect(forgotten == count - kept)
    #expect(seen.map(\.sequence) == (0..<kept).map { Int64(count - $0) })
    #expect(seen.allSatisfy { $0.target == "/\($0.sequence)" && $0.atMilliseconds == $0.sequence })
    #expect(log.newest == Int64(count))
    for after in [0, count - 3, count, count + 3] {
        let behind = log.behind(Int64(after)).map(\.sequence)
        #expect(behind == seen.map(\.sequence).filter { $0 > after }.reversed())
    }
}

@Test func mismatchesOfSeveralThreadsAreAllKept() {
    let log = MismatchLog()
    concurrently(4) { thread in
        for number in 0..<200 { log.record(mismatch(thread * 200 + number)) }
    }
    let all = log.page(before: nil, limit: .max)
    #expect(all.map(\.sequence) == (1...800).reversed())
    #expect(Set(all.map(\.target)).count == 800)
}
