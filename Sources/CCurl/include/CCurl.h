#pragma once
// Without _GNU_SOURCE: with it glibc's types differ from those of Swift's Glibc module, and whoever sees both is refused.
#include <curl/curl.h>

// curl_easy_setopt and curl_easy_getinfo are variadic, which Swift cannot call.
static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}
typedef size_t (*ccurl_write_function)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode ccurl_set_function(CURL *handle, CURLoption option, ccurl_write_function function) {
    return curl_easy_setopt(handle, option, function);
}
static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}
