#pragma once
#include <brotli/decode.h>
#include <stdlib.h>
#include <zlib.h>

// inflateInit2 is a macro that adds the version and the size of the stream structure.
static inline int ccompress_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

// What a decoder may allocate in one piece, and what it was given in all; its owner keeps it.
typedef struct {
    size_t largest;
    size_t given;
} ccompress_memory;

static inline void *ccompress_bounded_alloc(void *memory, size_t size) {
    ccompress_memory *bound = memory;
    if (size > bound->largest) return NULL;
    bound->given += size;
    return malloc(size);
}

static inline void ccompress_bounded_free(void *memory, void *address) {
    (void)memory;
    free(address);
}

static inline BrotliDecoderState *ccompress_brotli_create(ccompress_memory *memory) {
    return BrotliDecoderCreateInstance(ccompress_bounded_alloc, ccompress_bounded_free, memory);
}

// The decoder has given up because its window would have been too large.
static inline int ccompress_brotli_has_outgrown(const BrotliDecoderState *state) {
    BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(state);
    return code == BROTLI_DECODER_ERROR_ALLOC_RING_BUFFER_1 || code == BROTLI_DECODER_ERROR_ALLOC_RING_BUFFER_2;
}
