#pragma once
#include <brotli/decode.h>
#include <stdlib.h>
#include <zlib.h>

// inflateInit2 is a macro that adds the version and the size of the stream structure.
static inline int ccompress_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

// What a decoder may allocate in one piece is a number that its owner keeps.
static inline void *ccompress_bounded_alloc(void *largest, size_t size) {
    return size > *(const size_t *)largest ? NULL : malloc(size);
}

static inline void ccompress_bounded_free(void *largest, void *address) {
    (void)largest;
    free(address);
}

static inline BrotliDecoderState *ccompress_brotli_create(size_t *largest) {
    return BrotliDecoderCreateInstance(ccompress_bounded_alloc, ccompress_bounded_free, largest);
}

// The decoder has given up because its window would have been too large.
static inline int ccompress_brotli_has_outgrown(const BrotliDecoderState *state) {
    BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(state);
    return code == BROTLI_DECODER_ERROR_ALLOC_RING_BUFFER_1 || code == BROTLI_DECODER_ERROR_ALLOC_RING_BUFFER_2;
}
