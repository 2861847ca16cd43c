#pragma once
#include <brotli/decode.h>
#include <zlib.h>

// inflateInit2 is a macro that adds the version and the size of the stream structure.
static inline int ccompress_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}
