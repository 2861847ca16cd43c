#pragma once
#include <stddef.h>

// The parts of the operators' page, from the files of `web`. The bytes live as long as the process.
struct cpage_text {
    const unsigned char *bytes;
    size_t count;
};

struct cpage_text cpage_document(void);
struct cpage_text cpage_style(void);
struct cpage_text cpage_script(void);
