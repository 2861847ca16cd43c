import CLinux
import TestSupport
import Testing

@testable import Gateway

@Test(arguments: 1...20 as ClosedRange<UInt64>)
func aBufferHoldsWhatAListOfBytesWouldHold(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let pool = BlockPool()
    let buffer = Buffer(pool: pool)
    var expected: [UInt8] = []
    for step in 0..<500 {
        switch Int.random(in: 0..<14, using: &random) {
        case 0...2:
            let longest = [40, 3000, 40_000].randomElement(using: &random) ?? 1
            let bytes = random.bytes(Int.random(in: 0...longest, using: &random))
            bytes.withUnsafeBufferPointer { if let base = $0.baseAddress { buffer.append(base, bytes.count) } }
            expected += bytes
        case 3:
            let bytes = random.bytes(Int.random(in: 0...50, using: &random))
            buffer.append(bytes)
            expected += bytes
        case 4:
            let number = Int.random(in: 0...Int.max, using: &random) >> Int.random(in: 0...63, using: &random)
            buffer.append(decimal: number)
            expected += Array(String(number).utf8)
        case 5:
            let number = random.next() >> UInt64.random(in: 0...63, using: &random)
            buffer.append(hex: number)
            let digits = String(number, radix: 16)
            expected += Array((String(repeating: "0", count: 16 - digits.count) + digits).utf8)
        case 6:
            buffer.append(byte: 7)
            buffer.append("static")
            buffer.append(text: "é\(step)")
            expected += [7] + Array("staticé\(step)".utf8)
        case 7, 8, 9:
            let count = Int.random(in: 0...expected.count, using: &random)
            buffer.consume(count)
            expected.removeFirst(count)
        case 10:
            let offset = Int.random(in: 0...expected.count, using: &random)
            let count = Int.random(in: 0...(expected.count - offset), using: &random)
            buffer.cut(after: offset, count)
            expected.removeSubrange(offset..<(offset + count))
        case 11:
            let count = Int.random(in: 0...expected.count, using: &random)
            buffer.unappend(count)
            expected.removeLast(count)
        case 12:
            let bytes = random.bytes(Int.random(in: 1...5000, using: &random))
            buffer.reserve(bytes.count)
            #expect(buffer.free >= bytes.count)
            buffer.writable.update(from: bytes, count: bytes.count)
            buffer.produced(bytes.count)
            expected += bytes
        default:
            if Bool.random(using: &random) {
                buffer.clear()
                expected = []
            }
            buffer.releaseIfEmpty()
            #expect(!expected.isEmpty || buffer.capacity == 0)
        }
        let isSame = buffer.count == expected.count && memcmp(buffer.readable, expected, expected.count) == 0
        #expect(isSame && buffer.isEmpty == expected.isEmpty, "seed \(seed) step \(step)")
        if !isSame { return }
    }
}

@Test func anEmptyBufferHoldsNoMemoryAndItsBlockIsUsedAgain() {
    let pool = BlockPool()
    let buffer = Buffer(pool: pool)
    #expect(buffer.capacity == 0)
    buffer.append("something")
    #expect(buffer.capacity == BlockPool.blockSize)
    let block = buffer.base
    buffer.releaseIfEmpty()
    #expect(buffer.base == block, "a buffer that is not empty keeps its memory")
    buffer.consume(9)
    buffer.releaseIfEmpty()
    #expect(buffer.capacity == 0 && buffer.isEmpty)
    let again = pool.take()
    #expect(again == block)
    pool.give(again)
}

@Test func aBufferThatOutgrowsItsBlockGivesItBack() {
    let pool = BlockPool()
    let buffer = Buffer(pool: pool)
    buffer.append("x")
    let block = buffer.base
    buffer.append([UInt8](repeating: 1, count: BlockPool.blockSize))
    #expect(buffer.capacity > BlockPool.blockSize && buffer.count == BlockPool.blockSize + 1)
    let again = pool.take()
    #expect(again == block)
    pool.give(again)
}

@Test func theBlockOfABufferThatGoesAwayIsUsedAgain() {
    let pool = BlockPool()
    var block: UnsafeMutablePointer<UInt8>?
    do {
        let buffer = Buffer(pool: pool)
        buffer.append("x")
        block = buffer.base
    }
    let again = pool.take()
    #expect(again == block)
    pool.give(again)
}

@Test func aBufferMakesRoomByMovingBeforeItGrows() {
    let pool = BlockPool()
    let buffer = Buffer(pool: pool)
    buffer.append([UInt8](repeating: 1, count: BlockPool.blockSize - 1) + [2])
    buffer.consume(BlockPool.blockSize - 1)
    buffer.append([UInt8](repeating: 3, count: BlockPool.blockSize - 1))
    #expect(buffer.capacity == BlockPool.blockSize && buffer.count == BlockPool.blockSize)
    #expect(buffer.bytes.first == 2 && buffer.bytes.last == 3)
}
