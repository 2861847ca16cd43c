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

/// A buffer as a stream leaves it that came faster than it could be taken in.
private func usedBuffer(of pool: BlockPool, afterPart size: Int) -> Buffer {
    let buffer = Buffer(pool: pool)
    buffer.append([UInt8](repeating: 7, count: size))
    buffer.consume(size)
    return buffer
}

@Test func aBufferIsLargeWhileLargePartsPassThroughIt() {
    let pool = BlockPool()
    let buffer = usedBuffer(of: pool, afterPart: BlockPool.blockSize)
    buffer.adapt(last: BlockPool.blockSize, more: false)
    #expect(!buffer.isLarge, "nothing waits to be read")
    buffer.adapt(last: BlockPool.blockSize, more: true)
    #expect(buffer.isLarge && buffer.capacity == BlockPool.largeSize && pool.largeInUse == 1)
    buffer.append([UInt8](repeating: 1, count: BlockPool.largeSize))
    #expect(buffer.isLarge && buffer.count == BlockPool.largeSize && buffer.bytes.allSatisfy { $0 == 1 })
    buffer.adapt(last: 10, more: false)
    #expect(buffer.count == BlockPool.largeSize, "what is not empty is left alone")
    buffer.consume(BlockPool.largeSize)
    buffer.adapt(last: BlockPool.blockSize + 1, more: false)
    #expect(buffer.isLarge)
    buffer.adapt(last: BlockPool.blockSize, more: true)
    #expect(!buffer.isLarge && buffer.capacity == 0 && pool.largeInUse == 0)
}

@Test func aLargeBufferThatGrowsOrGoesAwayGivesItsBlockBack() {
    let pool = BlockPool()
    do {
        let buffer = usedBuffer(of: pool, afterPart: BlockPool.blockSize)
        buffer.adapt(last: BlockPool.blockSize, more: true)
        buffer.append([UInt8](repeating: 1, count: BlockPool.largeSize + 1))
        #expect(!buffer.isLarge && buffer.count == BlockPool.largeSize + 1 && pool.largeInUse == 0)
        let other = usedBuffer(of: pool, afterPart: 1)
        other.adapt(last: 1, more: true)
        #expect(other.isLarge && pool.largeInUse == 1)
    }
    #expect(pool.largeInUse == 0)
}

@Test func onlySoManyBuffersAreLarge() {
    let pool = BlockPool()
    let buffers = (0...BlockPool.largeMax).map { _ in
        let buffer = usedBuffer(of: pool, afterPart: BlockPool.blockSize)
        buffer.adapt(last: BlockPool.blockSize, more: true)
        return buffer
    }
    #expect(buffers.filter(\.isLarge).count == BlockPool.largeMax)
    #expect(buffers.last?.capacity == BlockPool.blockSize, "who comes later goes on with what they have")
    buffers[0].releaseIfLarge()
    buffers[BlockPool.largeMax].adapt(last: BlockPool.blockSize, more: true)
    #expect(buffers[BlockPool.largeMax].isLarge && !buffers[0].isLarge)
    pool.shrink()
}
