#include "CJSONTokens.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

// One bit for each byte of a block; of `high`, bytes above ASCII, it only matters whether there are any.
struct block {
    uint64_t quote, backslash, space, punctuation, control, high;
};

typedef struct block classify_function(const uint8_t *bytes);
typedef uint64_t prefix_function(uint64_t bits);
typedef unsigned long long trailing_zeros_function(uint64_t bits);
typedef bool utf8_function(struct json_tokens *tokens, const uint8_t *block);

// The bits at odd distances behind a beginning: each bit becomes the parity of those up to it.
ALWAYS_INLINE uint64_t prefix_parity(uint64_t bits) {
    for (int distance = 1; distance < 64; distance *= 2) bits ^= bits << distance;
    return bits;
}

// The length of the character at `at`, 0 when it is not UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF
// (RFC 3629 §4).
static size_t character_length(const uint8_t *text, size_t at, size_t count) {
    uint8_t lead = text[at];
    if (lead < 0x80) return 1;
    size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead < 0xC2 || lead > 0xF4 || count - at < length) return 0;
    uint8_t second = text[at + 1];
    uint8_t lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (second < lowest || second > highest) return 0;
    for (size_t index = 2; index < length; index++) {
        if ((text[at + index] & 0xC0) != 0x80) return 0;
    }
    return length;
}

// Checks the characters that begin in the block at `scanned`; the last may reach into the next block.
static bool is_utf8(struct json_tokens *tokens, const uint8_t *block) {
    (void)block;
    size_t at = tokens->characters > tokens->scanned ? tokens->characters : tokens->scanned;
    size_t end = tokens->count - tokens->scanned < 64 ? tokens->count : tokens->scanned + 64;
    while (at < end) {
        size_t length = character_length(tokens->text, at, tokens->count);
        if (length == 0) return false;
        at += length;
    }
    tokens->characters = at;
    return true;
}

// Which bytes are escaped by a backslash before them. In a run of backslashes it is every other one: an addition
// carries through the run, and where it comes out tells whether the run's length is odd (as in simdjson).
ALWAYS_INLINE uint64_t escaped_bytes(uint64_t backslash, uint64_t *carried) {
    if (backslash == 0) {
        uint64_t escaped = *carried;
        *carried = 0;
        return escaped;
    }
    const uint64_t even = 0x5555555555555555;
    backslash &= ~*carried;
    uint64_t follows = backslash << 1 | *carried;
    uint64_t odd_starts = backslash & ~even & ~follows;
    unsigned long long sum;
    *carried = __builtin_uaddll_overflow(odd_starts, backslash, &sum);
    return (even ^ (uint64_t)sum << 1) & follows;
}

// `__builtin_ctzll` is undefined for 0.
ALWAYS_INLINE unsigned long long trailing_zeros(uint64_t bits) {
    return (unsigned long long)__builtin_ctzll(bits | 1ull << 63);
}

// Writes the places of the bits, eight at a time: what is written behind the last does not count.
ALWAYS_INLINE size_t write_places(
    uint64_t bits, const uint8_t *base, const uint8_t **places, trailing_zeros_function *trailing_zeros) {
    size_t count = (size_t)__builtin_popcountll(bits);
    for (size_t written = 0; written < count; written += 8) {
        for (size_t index = 0; index < 8; index++) {
            places[written + index] = base + trailing_zeros(bits);
            bits &= bits - 1;
        }
    }
    return count;
}

ALWAYS_INLINE size_t scan_block(
    struct json_tokens *tokens, const uint8_t *bytes, const uint8_t **places, classify_function *classify,
    prefix_function *prefix, trailing_zeros_function *trailing_zeros, utf8_function *check_utf8) {
    struct block block = classify(bytes);
    uint64_t escaped = escaped_bytes(block.backslash, &tokens->escaped);
    uint64_t quote = block.quote & ~escaped;
    // Opening quotes are inside, closing ones are not.
    uint64_t in_string = prefix(quote) ^ tokens->in_string;
    tokens->in_string = (uint64_t)((int64_t)in_string >> 63);
    uint64_t scalar = ~(block.punctuation | block.space | quote);
    uint64_t scalar_starts = scalar & ~(scalar << 1 | tokens->in_scalar);
    tokens->in_scalar = scalar >> 63;
    uint64_t found = ((block.punctuation | scalar_starts) & ~in_string) | quote | (block.backslash & ~escaped);
    if (block.control & in_string) tokens->is_faulty = true;
    if (block.high != 0 && !check_utf8(tokens, bytes)) tokens->is_faulty = true;
    return write_places(found, tokens->text + tokens->scanned, places, trailing_zeros);
}

ALWAYS_INLINE size_t scan(
    struct json_tokens *tokens, const uint8_t **places, size_t room, classify_function *classify,
    prefix_function *prefix, trailing_zeros_function *trailing_zeros, utf8_function *check_utf8) {
    // The state in registers for as long as the loop goes.
    struct json_tokens state = *tokens;
    size_t written = 0;
    while (state.scanned < state.count && written + json_tokens_per_block + json_tokens_slack <= room) {
        size_t left = state.count - state.scanned;
        if (left >= 64) {
            written += scan_block(
                &state, state.text + state.scanned, places + written, classify, prefix, trailing_zeros, check_utf8);
            state.scanned += 64;
        } else {
            // White space behind the end adds no token.
            uint8_t last[64];
            memset(last, ' ', sizeof last);
            memcpy(last, state.text + state.scanned, left);
            written += scan_block(&state, last, places + written, classify, prefix, trailing_zeros, check_utf8);
            state.scanned = state.count;
        }
    }
    *tokens = state;
    return written;
}

// The way of every machine: a table of what each byte is.
enum { is_quote = 1, is_backslash = 2, is_space = 4, is_punctuation = 8, is_control = 16, is_high = 32 };

ALWAYS_INLINE uint8_t class_of(uint8_t byte) {
    switch (byte) {
    case '"': return is_quote;
    case '\\': return is_backslash;
    case ' ': return is_space;
    case '\t': case '\n': case '\r': return is_space | is_control;
    case '{': case '}': case '[': case ']': case ':': case ',': return is_punctuation;
    default: return byte < 0x20 ? is_control : byte >= 0x80 ? is_high : 0;
    }
}

static struct block classify_portably(const uint8_t *bytes) {
    struct block block = {0, 0, 0, 0, 0, 0};
    for (int index = 0; index < 64; index++) {
        uint64_t found = class_of(bytes[index]);
        block.quote |= (found & 1) << index;
        block.backslash |= (found >> 1 & 1) << index;
        block.space |= (found >> 2 & 1) << index;
        block.punctuation |= (found >> 3 & 1) << index;
        block.control |= (found >> 4 & 1) << index;
        block.high |= (found >> 5 & 1) << index;
    }
    return block;
}

size_t json_tokens_scan_portably(struct json_tokens *tokens, const uint8_t **places, size_t room) {
    return scan(tokens, places, room, classify_portably, prefix_parity, trailing_zeros, is_utf8);
}

#if defined(__x86_64__)

ALWAYS_INLINE uint64_t equal_sse2(__m128i bytes, char byte) {
    return (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte)));
}

ALWAYS_INLINE struct block classify_sse2(const uint8_t *bytes) {
    struct block block = {0, 0, 0, 0, 0, 0};
    for (int part = 0; part < 4; part++) {
        __m128i input = _mm_loadu_si128((const __m128i *)(bytes + 16 * part));
        __m128i curly = _mm_or_si128(input, _mm_set1_epi8(0x20));
        __m128i below_space = _mm_cmpeq_epi8(_mm_min_epu8(input, _mm_set1_epi8(0x1F)), input);
        int shift = 16 * part;
        block.quote |= equal_sse2(input, '"') << shift;
        block.backslash |= equal_sse2(input, '\\') << shift;
        block.space |= (equal_sse2(input, ' ') | equal_sse2(input, '\n') | equal_sse2(input, '\r')
                           | equal_sse2(input, '\t')) << shift;
        block.punctuation |= (equal_sse2(curly, '{') | equal_sse2(curly, '}') | equal_sse2(input, ':')
                                 | equal_sse2(input, ',')) << shift;
        block.control |= (uint64_t)(uint32_t)_mm_movemask_epi8(below_space) << shift;
        block.high |= (uint64_t)(uint32_t)_mm_movemask_epi8(input) << shift;
    }
    return block;
}

size_t json_tokens_scan_baseline(struct json_tokens *tokens, const uint8_t **places, size_t room) {
    return scan(tokens, places, room, classify_sse2, prefix_parity, trailing_zeros, is_utf8);
}

#define AVX2 __attribute__((target("avx2,bmi,popcnt,pclmul")))

// The tables are looked up by a byte's low half; what they hold equals the byte only where it is one that is sought. A
// form feed and 0x1A are taken for a comma and a colon: the reader looks at the bytes and refuses them.
AVX2 static inline __m256i table_avx2(
    char a, char b, char c, char d, char e, char f, char g, char h, char i, char j, char k, char l, char m, char n,
    char o, char p) {
    return _mm256_broadcastsi128_si256(_mm_setr_epi8(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p));
}

AVX2 static inline uint64_t mask_avx2(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

AVX2 static inline struct block classify_avx2(const uint8_t *bytes) {
    const __m256i low = _mm256_loadu_si256((const __m256i *)bytes);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(bytes + 32));
    const __m256i spaces = table_avx2(' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0);
    const __m256i marks = table_avx2(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0);
    const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\');
    const __m256i bit = _mm256_set1_epi8(0x20), control = _mm256_set1_epi8(0x1F);
    return (struct block){
        .quote = mask_avx2(_mm256_cmpeq_epi8(low, quote), _mm256_cmpeq_epi8(high, quote)),
        .backslash = mask_avx2(_mm256_cmpeq_epi8(low, backslash), _mm256_cmpeq_epi8(high, backslash)),
        .space = mask_avx2(
            _mm256_cmpeq_epi8(low, _mm256_shuffle_epi8(spaces, low)),
            _mm256_cmpeq_epi8(high, _mm256_shuffle_epi8(spaces, high))),
        .punctuation = mask_avx2(
            _mm256_cmpeq_epi8(_mm256_or_si256(low, bit), _mm256_shuffle_epi8(marks, low)),
            _mm256_cmpeq_epi8(_mm256_or_si256(high, bit), _mm256_shuffle_epi8(marks, high))),
        .control = mask_avx2(
            _mm256_cmpeq_epi8(_mm256_min_epu8(low, control), low),
            _mm256_cmpeq_epi8(_mm256_min_epu8(high, control), high)),
        .high = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(low, high)),
    };
}

AVX2 static inline uint64_t prefix_parity_avx2(uint64_t bits) {
    const __m128i product =
        _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)bits), _mm_set1_epi8((char)0xFF), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

AVX2 static inline unsigned long long trailing_zeros_avx2(uint64_t bits) { return _tzcnt_u64(bits); }

// What may be wrong with two neighbouring bytes (John Keiser, Daniel Lemire: Validating UTF-8 In Less Than One
// Instruction Per Byte, 2021): each half of the first and the high half of the second say what they allow for, and an
// error is what all three agree on.
enum {
    too_short = 1, too_long = 2, overlong_3 = 4, too_large = 8, surrogate = 16, overlong_2 = 32, too_large_1000 = 64,
    overlong_4 = 64, two_continuations = 128,
    carried = too_short | too_long | two_continuations,
};

// The bytes that stand `distance` places before those of `input`.
#define BEFORE_AVX2(input, previous, distance) \
    _mm256_alignr_epi8(input, _mm256_permute2x128_si256(previous, input, 0x21), 16 - (distance))

AVX2 static inline __m256i utf8_errors_avx2(__m256i input, __m256i previous) {
    const __m256i first_high = table_avx2(
        too_long, too_long, too_long, too_long, too_long, too_long, too_long, too_long, (char)two_continuations,
        (char)two_continuations, (char)two_continuations, (char)two_continuations, too_short | overlong_2, too_short,
        too_short | overlong_3 | surrogate, too_short | too_large | too_large_1000 | overlong_4);
    const char above = (char)(carried | too_large | too_large_1000);
    const __m256i first_low = table_avx2(
        (char)(carried | overlong_3 | overlong_2 | overlong_4), (char)(carried | overlong_2), (char)carried,
        (char)carried, (char)(carried | too_large), above, above, above, above, above, above, above, above,
        (char)(carried | too_large | too_large_1000 | surrogate), above, above);
    const char continuation = (char)(too_long | overlong_2 | two_continuations);
    const __m256i second_high = table_avx2(
        too_short, too_short, too_short, too_short, too_short, too_short, too_short, too_short,
        (char)(continuation | overlong_3 | too_large_1000 | overlong_4), (char)(continuation | overlong_3 | too_large),
        (char)(continuation | surrogate | too_large), (char)(continuation | surrogate | too_large), too_short,
        too_short, too_short, too_short);
    const __m256i half = _mm256_set1_epi8(0x0F);
    const __m256i first = BEFORE_AVX2(input, previous, 1);
    const __m256i errors = _mm256_and_si256(
        _mm256_and_si256(
            _mm256_shuffle_epi8(first_high, _mm256_and_si256(_mm256_srli_epi16(first, 4), half)),
            _mm256_shuffle_epi8(first_low, _mm256_and_si256(first, half))),
        _mm256_shuffle_epi8(second_high, _mm256_and_si256(_mm256_srli_epi16(input, 4), half)));
    // Third and fourth bytes have to be continuations behind a continuation; nothing else may be.
    const __m256i third = _mm256_subs_epu8(BEFORE_AVX2(input, previous, 2), _mm256_set1_epi8((char)(0xE0 - 0x80)));
    const __m256i fourth = _mm256_subs_epu8(BEFORE_AVX2(input, previous, 3), _mm256_set1_epi8((char)(0xF0 - 0x80)));
    const __m256i expected = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(errors, expected);
}

AVX2 static inline bool is_utf8_avx2(struct json_tokens *tokens, const uint8_t *block) {
    const __m256i low = _mm256_loadu_si256((const __m256i *)block);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
    const __m256i before = tokens->scanned == 0
        ? _mm256_setzero_si256() : _mm256_loadu_si256((const __m256i *)(tokens->text + tokens->scanned - 32));
    const __m256i errors = _mm256_or_si256(utf8_errors_avx2(low, before), utf8_errors_avx2(high, low));
    if (!_mm256_testz_si256(errors, errors)) return false;
    // A block without such characters is not looked at: one that is cut here must go on there.
    if (block[63] < 0xC0 && block[62] < 0xE0 && block[61] < 0xF0) return true;
    size_t next = tokens->scanned + 64;
    return next < tokens->count && tokens->text[next] >= 0x80;
}

AVX2 static size_t scan_avx2(struct json_tokens *tokens, const uint8_t **places, size_t room) {
    return scan(tokens, places, room, classify_avx2, prefix_parity_avx2, trailing_zeros_avx2, is_utf8_avx2);
}

size_t json_tokens_scan(struct json_tokens *tokens, const uint8_t **places, size_t room) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("bmi")
        && __builtin_cpu_supports("popcnt")) {
        return scan_avx2(tokens, places, room);
    }
    return json_tokens_scan_baseline(tokens, places, room);
}

#else

size_t json_tokens_scan_baseline(struct json_tokens *tokens, const uint8_t **places, size_t room) {
    return json_tokens_scan_portably(tokens, places, room);
}

size_t json_tokens_scan(struct json_tokens *tokens, const uint8_t **places, size_t room) {
    return json_tokens_scan_portably(tokens, places, room);
}

#endif
