// The four figures: value, samples, limit, verdict in a word and a sign, legacy and new side by side, and over time.

/** A line of shares; nothing under the line is no share. */
function series(key, label, above, below) {
    return { key, label, of: below, value: (bin) => (below(bin) > 0 ? above(bin) / below(bin) : null) };
}

/**
 * What the page knows of each figure: how it reads, and how it comes out of a bin of the history. `isOwn`: a point
 * of its chart is over that bin alone, not over the plan's window.
 */
const FIGURES = [
    {
        name: "read_error_rate", title: "Read errors", format: ratioText, unit: "read",
        hint: "reads that a backend failed, before any fallback",
        series: [
            ...sides.map((side) => series(side, side, (b) => b.read_errors[side], (b) => b.reads[side])),
            series("clients", "clients saw", (b) => b.client_errors, (b) => b.reads.legacy + b.reads.new),
        ],
        sides: (m) => [...bySide(m), { key: "clients", label: "clients saw", ...m.client }],
    },
    {
        name: "write_p95_seconds", title: "Write p95", format: waitText, unit: "write", isOwn: true,
        hint: "what 95 of 100 writes waited at most, as clients saw it",
        series: sides.map((side) => (
            { key: side, label: side, value: (b) => b.write_p95_seconds[side], of: (b) => b.own.writes[side] })),
        sides: (m) => [...bySide(m), ...(m.total ? [{ key: "clients", label: "together", ...m.total }] : [])],
    },
    {
        name: "conflict_rate", title: "Conflicts", format: ratioText, unit: "write",
        hint: "writes refused because of their revision",
        series: [series("clients", "writes", (b) => b.conflicts, (b) => b.writes_received)],
        sides: (m) => countsOf(m.by_source,
            [["gateway", "noticed by the gateway"], ["legacy", "by legacy"], ["new", "by new"]]),
    },
    {
        name: "fallback_rate", title: "Fallbacks", format: ratioText, unit: "request",
        hint: "requests meant for new that legacy answered",
        series: [series("new", "new", (b) => b.fallbacks, (b) => b.new_requests)],
        sides: (m) => countsOf(m.by_reason, ["connect", "timeout", "5xx", "404"].map((reason) => [reason, reason])),
    },
];

function bySide(metric) {
    return sides.map((side) => ({ key: side, label: side, ...metric.by_backend?.[side] }));
}

function countsOf(counts, names) {
    return names.map(([key, label]) => ({ key: `count-${key}`, label, count: counts?.[key] ?? 0 }));
}

function makeFigure(figure) {
    const id = `figure-${figure.name}`;
    return h("article", { class: "card figure", "data-metric": figure.name, "aria-labelledby": id },
        h("div", { class: "top" }, h("h3", { id, text: figure.title }), verdictNode()),
        h("div", {}, h("p", { class: "value" }), h("p", { class: "small basis" })),
        h("dl", { class: "sides" }),
        h("p", { class: "small reason" }),
        h("div", { class: "chart", "data-chart": figure.name }));
}

function verdictNode() {
    return h("span", { class: "verdict" }, sign("unsure"), h("span"));
}

function renderVerdict(node, verdict) {
    const { sign: name, tone, words } = verdictOf(verdict);
    mark(node, "data-tone", tone);
    mark(node.querySelector("use"), "href", `#sign-${name}`);
    say(node.querySelector("span"), words);
}

/** Whose figure the value is. The gate itself may look at the other side by now, as right after a rollback. */
function valueSide(metric) {
    if (!metric.by_backend) return null;
    const fits = (side) => metric.by_backend[side]?.samples === metric.samples
        && metric.by_backend[side]?.value === metric.value;
    return [metric.backend, ...sides].find((side) => side && fits(side)) ?? null;
}

function limitText(figure, metric) {
    const isSet = (limit) => limit !== null && limit !== undefined;
    const limits = [];
    if (isSet(metric.threshold)) limits.push(figure.format(metric.threshold));
    if (isSet(metric.over_legacy)) {
        limits.push(figure.name === "write_p95_seconds"
            ? `${metric.over_legacy} × legacy` : `legacy + ${ratioText(metric.over_legacy)}`);
    }
    return limits.length ? `limit ${limits.join(", or ")}` : "no limit";
}

function renderFigure(node, figure) {
    const metric = view.status.metrics?.[figure.name] || {};
    renderVerdict(node.querySelector(".verdict"), metric.verdict);
    const text = figure.format(metric.value);
    say(node.querySelector(".value"), text);
    node.querySelector(".value").classList.toggle("none", text === NO_SAMPLES);
    const of = valueSide(metric) ? ` of ${valueSide(metric)}` : "";
    say(node.querySelector(".basis"), `${many(metric.samples ?? 0, figure.unit)}${of} · ${limitText(figure, metric)}`);
    sync(node.querySelector(".sides"), figure.sides(metric), (side) => side.key, makeSide,
        (row, side) => updateSide(row, side, figure));
    // While it passes, what the figure is says more than that it passes.
    const reason = node.querySelector(".reason");
    say(reason, sentence(metric.verdict === "pass" ? figure.hint : metric.reason || figure.hint));
    mark(reason, "data-tone", verdictOf(metric.verdict).tone);
}

function makeSide(side) {
    return h("div", { class: "side", "data-side": side.key }, h("dt", { text: side.label }), h("dd"));
}

function updateSide(row, side, figure) {
    const dd = row.querySelector("dd");
    if ("count" in side) return say(dd, countText(side.count));
    const text = figure.format(side.value);
    say(dd, text === NO_SAMPLES ? text : `${text} of ${countText(side.samples)}`);
}

function renderFigures() {
    const covered = view.status.covered_seconds;
    const whole = view.status.window_seconds;
    const isFull = covered === undefined || covered >= whole;
    say(byId("window"), whole === undefined ? "" : isFull ? `over the last ${durationText(whole)}`
        : `the last ${durationText(covered)} of a window of ${durationText(whole)}`);
    sync(byId("figures"), FIGURES, (figure) => figure.name, makeFigure, renderFigure);
    for (const gate of view.status.gates || []) renderGateLine(gate);
}

/** The gates that are none of the four figures stand where their subject is. */
function renderGateLine(gate) {
    const node = byId(`gate-${gate.name}`);
    if (!node) return;
    node.hidden = false;
    if (!node.firstChild) node.append(verdictNode(), h("span", { class: "small why" }));
    renderVerdict(node.querySelector(".verdict"), gate.verdict);
    say(node.querySelector(".why"), sentence(gate.reason || gate.name));
}
