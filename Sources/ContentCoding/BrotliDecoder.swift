internal import CCompress

/// Owns one brotli decoder; it is destroyed when the value goes.
struct BrotliDecoder: ~Copyable {
    private let state: OpaquePointer
    /// The largest block of memory that the decoder may have, and what it has had; it keeps a pointer to this.
    private let memory: UnsafeMutablePointer<ccompress_memory>

    /// Nil when there is no memory for its state.
    ///
    /// The decoder's window grows to what it has decoded with the block that is announced, or less than twice that, and is filled
    /// before anything comes out: 26 bytes can make it fill 16 MiB in one go. A window of more than twice the limit is one of a body
    /// that is larger than the limit.
    init?(limit: Int) {
        memory = .allocate(capacity: 1)
        memory.initialize(
            to: ccompress_memory(largest: max(2 * limit, BrotliDecoder.tables) + BrotliDecoder.slack, given: 0))
        guard let state = ccompress_brotli_create(memory) else {
            memory.deallocate()
            return nil
        }
        self.state = state
    }

    deinit {
        BrotliDecoderDestroyInstance(state)
        memory.deallocate()
    }

    /// Bytes of memory that the decoder has asked for and got so far: what it can have filled.
    var bytesGiven: Int { memory.pointee.given }

    /// What the decoder may need for its tables, however little it decodes.
    private static let tables = 4 << 20
    /// It writes a little beyond its window.
    private static let slack = 4096

    /// Decodes a whole body.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) -> DecodeOutcome {
        guard let decoder = BrotliDecoder(limit: limit) else { return .undecodable }
        return decoder.run(bytes, limit: limit)
    }

    func run(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) -> DecodeOutcome {
        // The decoder moves these along; it keeps no pointer to the input or the chunk from one call to the next.
        var input = bytes.baseAddress
        var inputLeft = bytes.count
        var output: [UInt8] = []
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: decodedChunk) { chunk in
            while true {
                var free = chunk.baseAddress
                var freeLeft = chunk.count
                let result = BrotliDecoderDecompressStream(state, &inputLeft, &input, &freeLeft, &free, nil)
                let produced = chunk.count - freeLeft
                guard output.count + produced <= limit else { return .tooLarge }
                output.append(contentsOf: chunk[..<produced])
                if result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT { continue }
                if ccompress_brotli_has_outgrown(state) != 0 { return .tooLarge }
                // Everything was given at once: wanting more input means that the body was cut short.
                let isWhole = result == BROTLI_DECODER_RESULT_SUCCESS && inputLeft == 0
                return isWhole ? .decoded(output) : .undecodable
            }
        }
    }
}
