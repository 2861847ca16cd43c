// What the gateway says, as it happens: server-sent events over fetch (EventSource cannot send a token), and where
// there is no stream, the status every two seconds. Hidden tabs give their connection back: a browser has six for
// one host.

const STALE_AFTER = 5_000;
const SILENT_AFTER = 7_000;
const POLL_EVERY = 2_000;
const POLL_HIDDEN_EVERY = 10_000;
const STREAM_AGAIN_AFTER = 30_000;
const SETTLES_IN = 3_000;
const BACK_OFF = [500, 1_000, 2_000, 4_000, 8_000];

const feed = {
    /** connecting | live | polling | retrying | refused */
    link: "connecting",
    /** When the last status came (performance.now), and the wall clock of then. */
    heardAt: null,
    heardWall: null,
    triesAgainAt: null,
    shownAt: -Infinity,
    lastEventId: null,
    control: null,
    wake: null,
    failures: 0,
    isBrokenOff: false,

    /** By the clock that says more: one stands still while the machine sleeps, the other may be set. */
    get ageMilliseconds() {
        return this.heardAt === null ? null : Math.max(performance.now() - this.heardAt, Date.now() - this.heardWall);
    },

    /** Whether what is shown may no longer be so. */
    get isStale() {
        // Right after the tab is looked at again its last status is a hidden tab's.
        const isSettling = performance.now() - this.shownAt < SETTLES_IN;
        const allowed = STALE_AFTER + (document.hidden || isSettling ? POLL_HIDDEN_EVERY : 0);
        return this.heardAt !== null && this.ageMilliseconds > allowed;
    },

    heard(status) {
        this.heardAt = performance.now();
        this.heardWall = Date.now();
        this.failures = 0;
        takeStatus(status);
    },

    /** Breaks off whatever it waits for and begins anew. */
    restart() {
        this.failures = 0;
        this.isBrokenOff = true;
        this.control?.abort();
        this.wake?.();
    },

    pause(milliseconds) {
        this.triesAgainAt = performance.now() + milliseconds;
        return new Promise((resolve) => {
            const clock = setTimeout(resolve, milliseconds);
            this.wake = () => { clearTimeout(clock); resolve(); };
        });
    },

    async run() {
        let streamFrom = 0;
        for (;;) {
            try {
                if (document.hidden || performance.now() < streamFrom) await this.poll();
                else if (!await this.stream()) streamFrom = performance.now() + STREAM_AGAIN_AFTER;
            } catch (error) {
                await this.failed(error);
            }
        }
    },

    async failed(error) {
        if (this.isBrokenOff) return this.isBrokenOff = false;
        if (error.status === 401 && session.token) return dropToken(explain(error).join(" "));
        if (error.status === 401) {
            this.link = "refused";
            say(byId("token-why"), "From here the gateway shows nothing without a token.");
            openPanel("token-panel");
            renderLink();
            return this.pause(60_000);
        }
        this.link = "retrying";
        const base = BACK_OFF[Math.min(this.failures, BACK_OFF.length - 1)];
        this.failures += 1;
        renderLink();
        // Spread out, so that many pages do not come back in the same moment.
        return this.pause(base * (0.75 + Math.random() / 2));
    },

    async poll() {
        this.heard(await getNow("status"));
        this.link = "polling";
        renderLink();
        whilePolling();
        await this.pause(document.hidden ? POLL_HIDDEN_EVERY : POLL_EVERY);
    },

    /** Reads the stream until it ends. False: there is none to be had now. */
    async stream() {
        const control = this.control = new AbortController();
        let clock = null;
        const alive = () => {
            clearTimeout(clock);
            clock = setTimeout(() => control.abort(), SILENT_AFTER);
        };
        alive();
        try {
            const headers = { ...authorization(), Accept: "text/event-stream" };
            if (this.lastEventId !== null) headers["Last-Event-ID"] = String(this.lastEventId);
            const response = await fetch("/api/v1/stream",
                { headers, signal: control.signal, cache: "no-store", credentials: "omit", redirect: "error" });
            if (response.status === 404 || response.status === 503) return false;
            if (!response.ok) throw await problemOf(response);
            await this.read(response.body.getReader(), alive);
            throw new CallError(0, "the stream has ended");
        } finally {
            clearTimeout(clock);
            control.abort();
        }
    },

    async read(reader, alive) {
        const decoder = new TextDecoder();
        const parser = eventParser((event) => this.take(event));
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            alive();
            parser(decoder.decode(value, { stream: true }));
            if (document.hidden) return;
        }
    },

    take({ name, data, id }) {
        const value = JSON.parse(data);
        switch (name) {
        case "status":
            this.link = "live";
            this.heard(value);
            renderLink();
            break;
        case "change":
            this.lastEventId = id ?? value.seq;
            takeEvent(value);
            break;
        case "mismatch": takeMismatch(value); break;
        case "history": takeHistoryRow(value); break;
        default: break; // A later gateway may say more.
        }
    },
};

/** A parser of server-sent events (HTML Living Standard §9.2.6), fed with text as it comes. */
function eventParser(take) {
    let rest = "";
    let name = "", data = [], id = null;
    return (text) => {
        const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
        rest = lines.pop();
        for (const line of lines) {
            if (line === "") {
                if (data.length) take({ name: name || "message", data: data.join("\n"), id });
                name = "", data = [], id = null;
                continue;
            }
            const colon = line.indexOf(":");
            if (colon === 0) continue;
            const field = colon < 0 ? line : line.slice(0, colon);
            const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
            if (field === "event") name = value;
            else if (field === "data") data.push(value);
            else if (field === "id") id = value;
        }
    };
}

// MARK: The connection's state in the header, and the banner

let wasStale = null;

function linkWords() {
    if (feed.link === "refused") return ["No access: enter a token", "refused"];
    if (feed.heardAt === null) {
        return [feed.link === "retrying" ? "No answer, trying again" : "Connecting", "connecting"];
    }
    if (feed.isStale) return [`Stale since ${timeText(feed.heardWall, true)}`, "stale"];
    if (feed.link === "retrying") return ["Reconnecting", "retrying"];
    return feed.link === "polling" ? ["Live, every 2 s", "live"] : ["Live", "live"];
}

function renderLink() {
    const [words, state] = linkWords();
    say(byId("link-text"), words);
    mark(byId("link"), "data-link", state);
    const age = feed.ageMilliseconds;
    say(byId("link-age"), age === null ? "" : `${durationText(age / 1000)} old`);
    const stale = feed.isStale;
    document.body.classList.toggle("stale", stale);
    if (stale) {
        const again = Math.max(0, Math.ceil(((feed.triesAgainAt ?? 0) - performance.now()) / 1000));
        say(byId("banner-text"), `The gateway has not answered since ${timeText(feed.heardWall, true)}. `
            + "Everything below is from then, not from now."
            + (again > 0 && feed.link === "retrying" ? " Trying again." : ""));
    }
    if (stale !== wasStale) {
        byId("banner").hidden = !stale;
        if (wasStale) announce("The gateway answers again");
        wasStale = stale;
        renderJudgement();
        renderActions();
    }
}

function startFeed() {
    setInterval(renderLink, 500);
    document.addEventListener("visibilitychange", () => {
        if (!document.hidden) feed.shownAt = performance.now();
        feed.restart();
    });
    window.addEventListener("online", () => feed.restart());
    feed.run();
}
