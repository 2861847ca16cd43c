#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Where the tokens of a JSON text begin, found 64 bytes at a time and without a branch for each byte.
//
// A token is one of `{ } [ ] : ,` outside strings, both quotes of a string, each escape's backslash inside one, and the
// first byte of anything else that stands outside strings. What is between two tokens then is white space, the content
// of a string without escapes, or the rest of a number or a literal, which the reader has to look at.
//
// The scan also checks what is easier to see here than in the reader: the text is UTF-8 (RFC 3629), and no control
// character stands in a string.
struct json_tokens {
    const uint8_t *text;
    size_t count;
    // How far the text has been scanned; a multiple of 64, or `count` at the end.
    size_t scanned;
    // What the last block leaves to the next: all ones inside a string; 1 when its first byte is escaped; 1 when its
    // first byte continues a number or a literal.
    uint64_t in_string, escaped, in_scalar;
    // Up to where characters have been checked; beyond `scanned` when one is cut by the end of a block.
    size_t characters;
    // Set for good once something is wrong.
    bool is_faulty;
};

// The most tokens that one block has, and how many entries behind them may be written to.
enum { json_tokens_per_block = 64, json_tokens_slack = 8 };

// Scans on, writing where tokens begin to `places`, as long as `room` entries have room for another block's and the
// slack; returns how many it has written. The end has been reached when `scanned` is `count`.
size_t json_tokens_scan(struct json_tokens *tokens, const uint8_t **places, size_t room);

// The same without the instructions that only some machines of an architecture have, and without any that only some
// architectures have: what the first falls back to, and what tests hold it against.
size_t json_tokens_scan_baseline(struct json_tokens *tokens, const uint8_t **places, size_t room);
size_t json_tokens_scan_portably(struct json_tokens *tokens, const uint8_t **places, size_t room);

// 10 to the power of 0 to 8.
static inline uint64_t json_power_of_ten(unsigned exponent) {
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    return powers[exponent];
}

// 16 bytes of which the first `count` are all ones and the others 0.
static inline const uint8_t *json_kept_bytes(size_t count) {
    static const uint8_t bytes[32] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    };
    return bytes + 16 - count;
}
