#pragma once
#include <nghttp2/nghttp2.h>

// Frames are a union whose members Swift would have to spell out: what the gateway asks of one is asked here.
static inline uint8_t cnghttp2_type(const nghttp2_frame *frame) { return frame->hd.type; }
static inline int32_t cnghttp2_stream(const nghttp2_frame *frame) { return frame->hd.stream_id; }
static inline int cnghttp2_ends_stream(const nghttp2_frame *frame) {
    return (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS)
        && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}
// The fields of a request, and not its trailers.
static inline int cnghttp2_begins_request(const nghttp2_frame *frame) {
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}
