// The yardsticks of Benchmarks/hash.py: simdjson's DOM parse with one parser for all, and memcpy of the same bytes. Each
// line of standard input, "simdjson N" or "memcpy N", is answered with the bytes per second of processor time.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <simdjson.h>

namespace {

constexpr double round_seconds = 0.03;

using Documents = std::vector<simdjson::padded_string>;

Documents read(const char *path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Documents documents;
    for (size_t start = 0; start < bytes.size();) {
        size_t end = bytes.find('\x1e', start);
        if (end == std::string::npos) end = bytes.size();
        documents.emplace_back(bytes.data() + start, end - start);
        start = end + 1;
    }
    return documents;
}

double seconds() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

template <typename Work> double rate(const Documents &documents, Work work) {
    double bytes = 0;
    const double start = seconds();
    double spent = 0;
    do {
        for (const auto &document : documents) {
            work(document);
            bytes += document.size();
        }
        spent = seconds() - start;
    } while (spent < round_seconds);
    return bytes / spent;
}

} // namespace

int main(int count, char **arguments) {
    std::vector<Documents> corpora;
    size_t largest = 0;
    for (int index = 1; index < count; index++) {
        corpora.push_back(read(arguments[index]));
        for (const auto &document : corpora.back()) largest = std::max(largest, document.size());
    }
    simdjson::dom::parser parser;
    std::vector<char> copy(largest);
    std::cout << simdjson::get_active_implementation()->name() << std::endl;
    std::string what;
    size_t index;
    while (std::cin >> what >> index && index < corpora.size()) {
        double bytes_per_second;
        if (what == "memcpy") {
            bytes_per_second = rate(corpora[index], [&](const simdjson::padded_string &document) {
                std::memcpy(copy.data(), document.data(), document.size());
                asm volatile("" : : "r"(copy.data()) : "memory");
            });
        } else {
            bytes_per_second = rate(corpora[index], [&](const simdjson::padded_string &document) {
                simdjson::dom::element root;
                if (parser.parse(document).get(root)) std::abort();
            });
        }
        std::printf("%.0f\n", bytes_per_second);
        std::fflush(stdout);
    }
}
