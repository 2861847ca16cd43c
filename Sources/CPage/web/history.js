// Figures over time: rows of metrics/history gathered into bins of one width. A bin without a row is a gap in the
// record; one that saw no request has no value. Neither is ever a 0. Shares are over the plan's window before each
// point, as the figures and their gates are: single tens of seconds of little traffic would jump over any limit.

/** `width`: of a bin, in seconds; `resolution`: of the rows asked for; `refresh`: when they are asked for again. */
const RANGES = {
    "15m": { words: "15 minutes", resolution: 10, width: 10, bins: 90, refresh: 60 },
    "2h": { words: "2 hours", resolution: 60, width: 60, bins: 120, refresh: 60 },
    "24h": { words: "24 hours", resolution: 600, width: 600, bins: 144, refresh: 300 },
    "7d": { words: "7 days", resolution: 600, width: 3600, bins: 168, refresh: 600 },
};
const PAGES_MAX = 12;
/** Finished 10 s rows that came over the stream: the newest end of a chart whose own rows are coarser. */
const TAIL_MAX = 400;

const past = { range: "15m", rows: [], tail: [], skew: 0, loadedAt: null, loading: null, isFailed: false };

function startOf(row) { return Date.parse(row.at); }
function endOf(row) { return startOf(row) + row.seconds * 1000; }

/** How many bins before a point belong to it. */
function lookBack(range) {
    return Math.max(0, Math.ceil((view.status.window_seconds ?? 0) / range.width) - 1);
}

/** Asks for the rows of a range, page by page. */
async function loadHistory() {
    const range = RANGES[past.range];
    const token = past.loading = {};
    const since = (range.bins + lookBack(range)) * range.width;
    try {
        const rows = [];
        let cursor = null;
        for (let page = 0; page < PAGES_MAX; page += 1) {
            const more = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
            const query = `since=${since}s&resolution=${range.resolution}&limit=1000${more}`;
            const answer = await get(`metrics/history?${query}`);
            rows.push(...answer.items);
            cursor = answer.next;
            if (cursor === null || cursor === undefined) break;
        }
        if (past.loading !== token) return;
        past.rows = rows;
        past.isFailed = false;
        past.loadedAt = performance.now();
        say(byId("history-says"), cursor ? "There are more rows than this page takes; the oldest are left out." : "");
    } catch (error) {
        if (past.loading !== token) return;
        past.isFailed = error.status !== 404;
        past.loadedAt = performance.now();
        say(byId("history-says"), error.status === 404 ? "This gateway keeps no history."
            : `The history could not be read: ${error.message}.`);
    }
    renderCharts();
}

function takeHistoryRow(row) {
    past.tail.push(row);
    if (past.tail.length > TAIL_MAX) past.tail.shift();
    // A row comes when its span has ended: so far is the gateway's clock from this one's.
    past.skew = endOf(row) - Date.now();
    renderCharts();
}

/** The rows to show: coarse ones as far as they reach, then what the stream brought. */
function presentRows() {
    const known = new Set(past.rows.map((row) => `${row.at} ${row.instance}`));
    const reach = past.rows.reduce((latest, row) => Math.max(latest, endOf(row)), 0);
    const tail = past.tail.filter((row) => startOf(row) >= reach && !known.has(`${row.at} ${row.instance}`));
    return [...past.rows, ...tail].sort((a, b) => startOf(a) - startOf(b));
}

function addCounts(into, counts) {
    for (const [key, value] of Object.entries(counts || {})) into[key] = (into[key] || 0) + value;
}

function largest(a, b) {
    if (a === null || a === undefined) return b ?? null;
    return b === null || b === undefined ? a : Math.max(a, b);
}

const PLAIN_COUNTS = ["client_errors", "writes_received", "conflicts", "new_requests", "fallbacks"];
/** What changes when the rollout does. */
const MOVES = ["stage", "percent", "state"];
const SIDE_COUNTS = ["reads", "read_errors", "writes"];

function emptyBin(at) {
    const bin = { at, rows: 0, percent: null, write_p95_seconds: { legacy: null, new: null } };
    for (const name of PLAIN_COUNTS) bin[name] = 0;
    for (const name of SIDE_COUNTS) bin[name] = { legacy: 0, new: 0 };
    return bin;
}

function addCountsOf(bin, row) {
    for (const name of PLAIN_COUNTS) bin[name] += row[name] ?? 0;
    for (const name of SIDE_COUNTS) addCounts(bin[name], row[name]);
}

function addRow(bin, row) {
    bin.rows += 1;
    bin.percent = largest(bin.percent, row.percent);
    addCountsOf(bin, row);
    for (const side of sides) {
        bin.write_p95_seconds[side] = largest(bin.write_p95_seconds[side], row.write_p95_seconds?.[side]);
    }
}

/** Bins from the oldest to the newest, and the changes of stage between them. */
function gather(rows, range, now) {
    const width = range.width * 1000;
    const end = Math.ceil(now / width) * width;
    const before = lookBack(range);
    const begin = end - range.bins * width;
    const earliest = begin - before * width;
    const bins = Array.from({ length: before + range.bins }, (_, index) => emptyBin(earliest + index * width));
    const marks = [];
    const lasts = new Map();
    for (const row of rows) {
        const start = startOf(row);
        const last = lasts.get(row.instance);
        lasts.set(row.instance, row);
        const index = Math.floor((start - earliest) / width);
        if (index < 0 || index >= bins.length) continue;
        addRow(bins[index], row);
        if (start >= begin && last && MOVES.some((name) => last[name] !== row[name])) {
            marks.push({ at: start, label: markText(row, last) });
        }
    }
    const seen = new Set();
    return {
        begin, end,
        bins: bins.slice(before).map((bin, index) => overWindow(bin, bins.slice(index, index + before))),
        // Several gateways tell of the same change.
        marks: marks.filter((one) => !seen.has(one.label + one.at) && seen.add(one.label + one.at)),
    };
}

/** A bin with the counts of those before it added; its waits stay its own, and so does whether there is a record. */
function overWindow(bin, earlier) {
    const sum = { ...emptyBin(bin.at), rows: bin.rows, write_p95_seconds: bin.write_p95_seconds, own: bin };
    for (const one of [...earlier, bin]) addCountsOf(sum, one);
    return sum;
}

function markText(row, last) {
    if (row.state !== last.state && row.state === "rolled_back") return "rolled back";
    if (row.state !== last.state && row.state === "paused") return "paused";
    if (row.stage === last.stage && row.percent === last.percent) return row.state;
    // "shadow 0 %" would be read as a share of shadow reads.
    if (row.percent === 0 && row.stage) return `stage ${row.stage}`;
    return `${row.stage ?? ""} ${percentText(row.percent)}`.trim();
}

/** How many gateways the shown rows are of. */
function instancesOf(rows) { return new Set(rows.map((row) => row.instance)).size; }

function renderCharts() {
    if (!view.status) return;
    const range = RANGES[past.range];
    const rows = presentRows();
    const picture = gather(rows, range, Date.now() + past.skew);
    picture.gateways = instancesOf(rows);
    for (const figure of FIGURES) {
        const host = document.querySelector(`[data-chart="${figure.name}"]`);
        if (host) drawChart(host, figure, picture, range);
    }
}

function startHistory() {
    for (const input of document.querySelectorAll('input[name="range"]')) {
        input.addEventListener("change", () => setRange(input.value));
    }
    setInterval(() => {
        if (document.hidden || past.loadedAt === null || feed.isStale) return;
        const range = RANGES[past.range];
        // What could not be read is asked for again as soon as the gateway is heard.
        if (past.isFailed) return loadHistory();
        const every = feed.link === "live" ? range.refresh : Math.min(range.refresh, 10);
        if (performance.now() - past.loadedAt > every * 1000) loadHistory();
        else renderCharts();
    }, 5_000);
    new ResizeObserver(renderCharts).observe(byId("figures"));
}

function setRange(name) {
    past.range = name;
    const input = document.querySelector(`input[name="range"][value="${name}"]`);
    input.checked = true;
    past.rows = [];
    loadHistory();
}
