// A chart by hand: lines of legacy and new over each other, the gate's limit, stage changes, gaps. Read off with the
// mouse or the arrow keys (it is a slider to screen readers), or as a table.

const CHART = { height: 136, top: 20, bottom: 18, side: 2 };
/** The bin that is read off in all charts at once; null is none. */
let cursorAt = null;
const drawn = new Map();

function drawChart(host, figure, picture, range) {
    if (!host.firstChild) buildChart(host, figure);
    const chart = drawn.get(figure.name);
    Object.assign(chart, { picture, range });
    const width = Math.max(220, Math.floor(host.clientWidth));
    const points = figure.series.map((one) => picture.bins.map((bin) => (bin.rows ? one.value(bin) : null)));
    const limit = view.status.metrics?.[figure.name]?.threshold ?? null;
    const highest = Math.max(limit === null ? 0 : limit * 1.2, ...points.flat().map((value) => value ?? 0));
    const top = roundUp(highest || 0.01);
    const scale = {
        width, top,
        x: (at) => CHART.side + (width - 2 * CHART.side) * (at - picture.begin) / (picture.end - picture.begin),
        y: (value) => CHART.height - CHART.bottom - (CHART.height - CHART.top - CHART.bottom) * value / top,
    };
    Object.assign(chart, { scale, points, limit });
    mark(chart.svg, "viewBox", `0 0 ${width} ${CHART.height}`);
    mark(chart.svg, "height", CHART.height);
    chart.layer.replaceChildren(
        ...gapShades(picture, scale), ...gridLines(figure, scale), ...markLines(picture, scale),
        ...limitLine(figure, limit, scale),
        ...figure.series.flatMap((one, index) => seriesLines(one, points[index], picture, scale)));
    renderCursor(chart);
    if (chart.table.open) fillTable(chart);
}

function buildChart(host, figure) {
    const layer = s("g");
    const cursor = s("g", { class: "cursor" });
    const svg = s("svg", { class: "plot", role: "slider", tabindex: "0", "aria-valuemin": "0",
        "aria-label": `${figure.title} over time: arrow keys read it off` }, layer, cursor);
    const readout = h("p", { class: "readout small" });
    const words = `${figure.title} as a table`;
    const table = h("details", { class: "as-table" }, h("summary", { text: words }), scroller(words));
    const chart = { figure, host, svg, layer, cursor, readout, table };
    drawn.set(figure.name, chart);
    svg.addEventListener("pointermove", (event) => pointAt(chart, event));
    svg.addEventListener("pointerleave", () => moveCursor(null));
    svg.addEventListener("keydown", (event) => keyOn(chart, event));
    svg.addEventListener("blur", () => moveCursor(null));
    table.addEventListener("toggle", () => table.open && fillTable(chart));
    host.append(svg, readout, table);
}

/** The next round number. */
function roundUp(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((round) => round >= value * 0.999);
}

// MARK: Lines

function seriesLines(one, values, picture, scale) {
    const nodes = [];
    const center = (index) => scale.x((picture.bins[index].at + (picture.bins[index + 1]?.at ?? picture.end)) / 2);
    let run = [];
    const finish = () => {
        // A lone value has no line; a dot shows that it is there.
        if (run.length === 1) nodes.push(s("circle", { class: `dot ${one.key}`, cx: run[0][0], cy: run[0][1], r: 2 }));
        else if (run.length > 1) {
            nodes.push(s("path", { class: `line ${one.key}`, d: `M${run.map((at) => at.join(" ")).join("L")}` }));
        }
        run = [];
    };
    values.forEach((value, index) => {
        if (value === null || value === undefined) finish();
        else run.push([center(index).toFixed(1), scale.y(value).toFixed(1)]);
    });
    finish();
    return nodes;
}

/** Where nothing was recorded. */
function gapShades(picture, scale) {
    const nodes = [];
    const { bins } = picture;
    for (let index = 0; index < bins.length; index += 1) {
        if (bins[index].rows) continue;
        let end = index;
        while (end + 1 < bins.length && !bins[end + 1].rows) end += 1;
        const from = scale.x(bins[index].at);
        const to = scale.x(bins[end + 1]?.at ?? picture.end);
        // The newest bin is just being recorded.
        if (index < bins.length - 2) {
            nodes.push(s("rect", { class: "gap", x: from, y: CHART.top, width: to - from,
                height: CHART.height - CHART.top - CHART.bottom }));
        }
        index = end;
    }
    return nodes;
}

function gridLines(figure, scale) {
    const { picture } = drawn.get(figure.name);
    const base = scale.y(0);
    const line = (y) => s("line", { class: "grid", x1: 0, x2: scale.width, y1: y, y2: y });
    const label = (text, anchor, x, y = CHART.height - 4) => (
        s("text", { class: "tick", x, y, "text-anchor": anchor, text }));
    const middle = (picture.begin + picture.end) / 2;
    return [line(base), line(CHART.top), label(figure.format(scale.top), "end", scale.width, CHART.top + 12),
        label(timeText(picture.begin), "start", 0), label(timeText(middle), "middle", scale.width / 2),
        label("now", "end", scale.width)];
}

function limitLine(figure, limit, scale) {
    if (limit === null) return [];
    const y = scale.y(limit);
    return [
        s("line", { class: "limit", x1: 0, x2: scale.width, y1: y, y2: y }),
        s("text", { class: "limit-label", x: 2, y: y - 4, text: `limit ${figure.format(limit)}` }),
    ];
}

function markLines(picture, scale) {
    let free = Infinity;
    const nodes = [];
    // From the newest: where labels do not fit, the newest are the ones to know.
    for (const { at, label } of [...picture.marks].reverse()) {
        const x = scale.x(at);
        nodes.push(s("line", { class: "mark", x1: x, x2: x, y1: CHART.top - 4, y2: CHART.height - CHART.bottom }));
        const width = label.length * 6 + 8;
        const end = Math.min(x + width, scale.width);
        if (end <= free) {
            nodes.push(s("text", { class: "mark-label", x: end - width + 4, y: 10, text: label }));
            free = end - width;
        }
    }
    return nodes;
}

// MARK: Reading it off

function pointAt(chart, event) {
    const box = chart.svg.getBoundingClientRect();
    const { bins } = chart.picture;
    const index = Math.floor((event.clientX - box.left) / box.width * bins.length);
    moveCursor(Math.max(0, Math.min(bins.length - 1, index)));
}

function keyOn(chart, event) {
    const last = chart.picture.bins.length - 1;
    const from = cursorAt ?? newestOf(chart);
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    if (event.key in steps) moveCursor(Math.max(0, Math.min(last, from + steps[event.key])));
    else if (event.key === "Home") moveCursor(0);
    else if (event.key === "End") moveCursor(last);
    else return;
    event.preventDefault();
}

function moveCursor(index) {
    cursorAt = index;
    for (const chart of drawn.values()) renderCursor(chart);
}

/** The newest bin with a record; the very last one is just being recorded. */
function newestOf(chart) {
    return Math.max(0, chart.picture.bins.findLastIndex((bin) => bin.rows));
}

/** What a point of a chart is over. */
function spanWords({ figure, range }) {
    const window = view.status.window_seconds ?? 0;
    if (figure.isOwn || window <= range.width) return `over ${durationText(range.width)}`;
    return `over the ${durationText(window)} before it`;
}

/** One bin in words: `02:14:10 · legacy 0.02 % of 812 · new no samples`. */
function binText(chart, index) {
    const bin = chart.picture.bins[index];
    const from = timeText(bin.at, chart.range.width < 60);
    if (!bin.rows) return `${from} · nothing recorded`;
    const values = chart.figure.series.map((one) => {
        const text = chart.figure.format(one.value(bin));
        return text === NO_SAMPLES ? `${one.label} ${text}` : `${one.label} ${text} of ${countText(one.of(bin))}`;
    });
    return [from, ...values].join(" · ");
}

function renderCursor(chart) {
    const { picture, scale, svg, readout, range } = chart;
    const index = cursorAt;
    const last = picture.bins.length - 1;
    mark(svg, "aria-valuemax", last);
    const shown = index ?? newestOf(chart);
    mark(svg, "aria-valuenow", shown);
    mark(svg, "aria-valuetext", binText(chart, shown));
    if (index === null) {
        const gateways = picture.gateways > 1 ? `; ${picture.gateways} gateways together` : "";
        say(readout, `${range.words}; each point is ${spanWords(chart)}${gateways}`);
        chart.cursor.replaceChildren();
        return;
    }
    say(readout, binText(chart, index));
    const x = scale.x((picture.bins[index].at + (picture.bins[index + 1]?.at ?? picture.end)) / 2);
    const dots = chart.figure.series.flatMap((one, number) => {
        const value = chart.points[number][index];
        if (value === null || value === undefined) return [];
        return [s("circle", { class: `dot ${one.key}`, cx: x, cy: scale.y(value), r: 3.5 })];
    });
    chart.cursor.replaceChildren(s("line", { x1: x, x2: x, y1: CHART.top, y2: CHART.height - CHART.bottom }), ...dots);
}

function fillTable(chart) {
    const { figure, picture, range } = chart;
    const rows = picture.bins.filter((bin) => bin.rows).reverse().map((bin) => h("tr", {},
        h("th", { scope: "row", text: timeText(bin.at, range.width < 60) }),
        ...figure.series.map((one) => h("td", { text: figure.format(one.value(bin)) }))));
    const caption = h("caption", { text: `${figure.title}, the last ${range.words}, newest first; `
        + "spans without a record are left out" });
    const head = columns(["from", ...figure.series.map((one) => one.label)]);
    chart.table.querySelector(".scroll").replaceChildren(h("table", {}, caption, head, h("tbody", {}, ...rows)));
}
