// The four figures: value, samples, limit, verdict in a word and a sign, legacy and new side by side, and over time.

/**
 * Whether nobody was on new in the very span of a bin. Its window still holds what new did before a rollback; that
 * line ends there, else it would seem to go on, and even to rise, while the good leaves the window before the bad.
 */
function isLeft(bin, requests) { return bin.own.percent === 0 && requests(bin.own) === 0; }

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
            series("legacy", "legacy", (b) => b.read_errors.legacy, (b) => b.reads.legacy),
            series("new", "new", (b) => b.read_errors.new, (b) => (isLeft(b, (o) => o.reads.new) ? 0 : b.reads.new)),
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
        series: [series("new", "new", (b) => b.fallbacks,
            (b) => (isLeft(b, (o) => o.new_requests) ? 0 : b.new_requests))],
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

const isSet = (limit) => limit !== null && limit !== undefined;

/** Without a limit there is nothing to pass or to fail. */
function hasGate(metric) { return isSet(metric.threshold) || isSet(metric.over_legacy); }

/** Since when nobody is on new after a rollback, while the window still holds what new did before; else null. */
function formerSince(status) {
    const { rollout } = status;
    if (rollout.state !== "rolled_back" || rollout.percent !== 0) return null;
    const since = stateSince(rollout);
    const age = (Date.now() + past.skew - Date.parse(since)) / 1000;
    return age <= (status.window_seconds ?? 0) ? since : null;
}

/** How many samples of a figure are of new. */
function samplesOfNew(figure, metric) {
    return (figure.name === "fallback_rate" ? metric.samples : metric.by_backend?.new?.samples) ?? 0;
}

/** The sentence of a figure. While it passes, what the figure is says more than that it passes. */
function figureSentence(figure, metric, former) {
    const reason = hasGate(metric) && metric.verdict !== "pass" ? metric.reason : null;
    if (former) return `what is left of new is from before the rollback at ${timeText(former)}; nobody is on it now`;
    const ofNew = metric.by_backend?.new;
    const isOfLegacy = metric.backend === "legacy" && valueSide(metric) === "legacy";
    if (view.status.rollout.percent > 0 && isOfLegacy && ofNew?.samples > 0) {
        const seen = `new so far: ${figure.format(ofNew.value)} of ${many(ofNew.samples, figure.unit)}`;
        return `${seen}, too few to judge by; the figure above is legacy's${reason ? `. ${sentence(reason)}` : ""}`;
    }
    return reason || figure.hint;
}

function limitText(figure, metric) {
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
    node.querySelector(".verdict").hidden = !hasGate(metric);
    const former = samplesOfNew(figure, metric) > 0 ? formerSince(view.status) : null;
    node.classList.toggle("former", former !== null && (!metric.by_backend || valueSide(metric) === "new"));
    const text = figure.format(metric.value);
    say(node.querySelector(".value"), text);
    node.querySelector(".value").classList.toggle("none", text === NO_SAMPLES);
    const of = valueSide(metric) ? ` of ${valueSide(metric)}` : "";
    say(node.querySelector(".basis"), `${many(metric.samples ?? 0, figure.unit)}${of} · ${limitText(figure, metric)}`);
    sync(node.querySelector(".sides"), figure.sides(metric), (side) => side.key, makeSide,
        (row, side) => updateSide(row, side, figure, former));
    const reason = node.querySelector(".reason");
    say(reason, sentence(figureSentence(figure, metric, former)));
    mark(reason, "data-tone", hasGate(metric) && !former ? verdictOf(metric.verdict).tone : null);
}

function makeSide(side) {
    return h("div", { class: "side", "data-side": side.key }, h("dt", { text: side.label }), h("dd"));
}

function updateSide(row, side, figure, former) {
    row.classList.toggle("former", former !== null && side.key === "new");
    const dd = row.querySelector("dd");
    if ("count" in side) return say(dd, countText(side.count));
    const text = figure.format(side.value);
    say(dd, text === NO_SAMPLES ? text : `${text} of ${countText(side.samples)}`);
}

function renderFigures() {
    const covered = view.status.covered_seconds;
    const whole = view.status.window_seconds;
    const isFull = covered === undefined || covered >= whole;
    const span = isFull ? `over the last ${durationText(whole)}`
        : `the last ${durationText(covered)} of a window of ${durationText(whole)}`;
    const gates = view.status.gates?.length ? "; the gates count since their stage began" : "";
    say(byId("window"), whole === undefined ? "" : span + gates);
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
