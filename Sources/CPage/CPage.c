#include "CPage.h"

// The compiler reads the files as they are (C23 #embed): nothing is generated, and a file that changes is built in anew.
// SwiftPM's own `.embedInCode` writes them as Swift arrays, which cost ten seconds of every build.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char document[] = {
#embed "web/page.html"
};

static const unsigned char style[] = {
#embed "web/theme.css"
    ,
#embed "web/layout.css"
    ,
#embed "web/parts.css"
};

// One script with one scope: who is used by others at start comes first, `main` last.
static const unsigned char script[] = {
#embed "web/dom.js"
    ,
#embed "web/format.js"
    ,
#embed "web/session.js"
    ,
#embed "web/calls.js"
    ,
#embed "web/feed.js"
    ,
#embed "web/judge.js"
    ,
#embed "web/ladder.js"
    ,
#embed "web/figures.js"
    ,
#embed "web/history.js"
    ,
#embed "web/chart.js"
    ,
#embed "web/legs.js"
    ,
#embed "web/mismatches.js"
    ,
#embed "web/users.js"
    ,
#embed "web/events.js"
    ,
#embed "web/changes.js"
    ,
#embed "web/rollback.js"
    ,
#embed "web/keys.js"
    ,
#embed "web/main.js"
};

struct cpage_text cpage_document(void) { return (struct cpage_text){document, sizeof document}; }
struct cpage_text cpage_style(void) { return (struct cpage_text){style, sizeof style}; }
struct cpage_text cpage_script(void) { return (struct cpage_text){script, sizeof script}; }
