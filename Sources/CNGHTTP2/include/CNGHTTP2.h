#pragma once
#include <nghttp2/nghttp2.h>

// Frames are a union whose members Swift would have to spell out: what the gateway asks of one is asked here.
static inline uint8_t cnghttp2_type(const nghttp2_frame *frame) { return frame->hd.type; }
static inline int32_t cnghttp2_stream(const nghttp2_frame *frame) { return frame->hd.stream_id; }
static inline int cnghttp2_ends_stream(const nghttp2_frame *frame) {
    return (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS)
        && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}
// A stream is reset for what its client did: a broken rule, and nothing that the gateway or a backend could not do.
static inline int cnghttp2_resets_for_the_client(const nghttp2_frame *frame) {
    if (frame->hd.type != NGHTTP2_RST_STREAM) return 0;
    switch (frame->rst_stream.error_code) {
    case NGHTTP2_NO_ERROR:
    case NGHTTP2_INTERNAL_ERROR:
    case NGHTTP2_REFUSED_STREAM:
    case NGHTTP2_CANCEL:
        return 0;
    default:
        return 1;
    }
}
// The fields of a request, and not its trailers.
static inline int cnghttp2_begins_request(const nghttp2_frame *frame) {
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}
