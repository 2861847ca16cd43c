/// Where bytes are read, one after the other: an address in the product; in a test, one that counts how often it was read, so that a
/// search is seen to be linear without a clock.
///
/// What the module offers to others takes addresses and does no more than call what is generic, which is specialised within the
/// module.
protocol BytePointer {
    func read(_ offset: Int) -> UInt8
    static func + (pointer: Self, offset: Int) -> Self
}

extension BytePointer {
    @inline(__always)
    subscript(offset: Int) -> UInt8 { read(offset) }
}

extension UnsafePointer: BytePointer where Pointee == UInt8 {
    @inline(__always)
    func read(_ offset: Int) -> UInt8 { (self + offset).pointee }
}
