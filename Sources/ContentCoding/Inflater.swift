internal import CCompress

/// Owns one zlib stream; it is ended when the value goes.
struct Inflater: ~Copyable {
    /// What is around the deflated data.
    enum Wrapping: CInt {
        /// RFC 1952; zlib's window bits plus 16.
        case gzip = 31
        /// RFC 1950.
        case zlib = 15
        /// Nothing: RFC 1951; negative window bits.
        case bare = -15
    }

    /// On the heap, because zlib's state points back at it and refuses a stream that has moved.
    private let stream: UnsafeMutablePointer<z_stream>
    private let wrapping: Wrapping

    /// Nil when zlib has no memory for its state.
    private init?(_ wrapping: Wrapping) {
        self.wrapping = wrapping
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard ccompress_inflate_init(stream, wrapping.rawValue) == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Whether the bytes begin like RFC 1950: method 8, a window of at most 32 KiB, a header divisible by 31.
    static func looksWrapped(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.count >= 2 else { return false }
        return bytes[0] & 0x0F == 8 && bytes[0] >> 4 <= 7 && (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
    }

    /// Decodes a whole body.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>, as wrapping: Wrapping, limit: Int) -> DecodeOutcome {
        guard let count = UInt32(exactly: bytes.count) else { return .tooLarge }
        guard let inflater = Inflater(wrapping) else { return .undecodable }
        return inflater.run(bytes, count: count, limit: limit)
    }

    private func run(_ bytes: UnsafeBufferPointer<UInt8>, count: UInt32, limit: Int) -> DecodeOutcome {
        // zlib takes a pointer to mutable input for historical reasons and never writes to it. The pointers set here are
        // used by zlib within this call only.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
        stream.pointee.avail_in = count
        var output: [UInt8] = []
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: decodedChunk) { chunk in
            while true {
                stream.pointee.next_out = chunk.baseAddress
                stream.pointee.avail_out = UInt32(truncatingIfNeeded: chunk.count)
                let status = inflate(stream, Z_NO_FLUSH)
                let produced = chunk.count - Int(stream.pointee.avail_out)
                guard output.count + produced <= limit else { return .tooLarge }
                output.append(contentsOf: chunk[..<produced])
                switch status {
                case Z_OK:
                    // zlib answers Z_BUF_ERROR next when nothing more can be done: the input was cut short.
                    continue
                case Z_STREAM_END:
                    if stream.pointee.avail_in == 0 { return .decoded(output) }
                    // Only gzip may go on, with another member (RFC 1952 §2.2); zlib refuses anything else as its header.
                    guard wrapping == .gzip, inflateReset(stream) == Z_OK else { return .undecodable }
                default:
                    return .undecodable
                }
            }
        }
    }
}
