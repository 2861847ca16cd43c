internal import CCompress

/// Owns one brotli decoder; it is destroyed when the value goes.
struct BrotliDecoder: ~Copyable {
    private let state: OpaquePointer

    /// Nil when there is no memory for its state.
    private init?() {
        guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else { return nil }
        self.state = state
    }

    deinit {
        BrotliDecoderDestroyInstance(state)
    }

    /// Decodes a whole body.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) -> DecodeOutcome {
        guard let decoder = BrotliDecoder() else { return .undecodable }
        return decoder.run(bytes, limit: limit)
    }

    private func run(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) -> DecodeOutcome {
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
                // Everything was given at once: wanting more input means that the body was cut short.
                let isWhole = result == BROTLI_DECODER_RESULT_SUCCESS && inputLeft == 0
                return isWhole ? .decoded(output) : .undecodable
            }
        }
    }
}
