// Shadow reads that differed lastingly: newest first, each folded open to its paths and both answers.

const MISMATCH_PAGE = 25;
const MISMATCHES_KEPT = 500;
const mismatchList = { items: [], next: null, loaded: false };

function renderShadow() {
    const shadow = view.status.shadow || {};
    const counts = [["compared", "compared"], ["matched", "the same"], ["mismatched", "differed"],
        ["transient", "differed for a moment"], ["dropped", "not compared"],
        ...("errors" in shadow ? [["errors", "failed on new"]] : [])];
    sync(byId("shadow"), counts, ([key]) => key,
        ([, label]) => h("div", {}, h("dt", { text: label }), h("dd")),
        (node, [key]) => say(node.querySelector("dd"), countText(shadow[key])));
    // Without a stream nobody brings them; the count says when there are more.
    const isMissed = mismatchList.count !== shadow.mismatched && feed.link !== "live";
    if (isMissed || !mismatchList.loaded) loadMismatches(null);
    mismatchList.count = shadow.mismatched;
}

async function loadMismatches(cursor) {
    mismatchList.loaded = true;
    try {
        const more = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
        const answer = await get(`mismatches?limit=${MISMATCH_PAGE}${more}`);
        const items = cursor === null ? answer.items : [...mismatchList.items, ...answer.items];
        keepMismatches([...items, ...mismatchList.items]);
        mismatchList.next = answer.next;
    } catch (error) {
        if (!mismatchList.items.length) byId("mismatches").replaceChildren(
            h("p", { class: "none", text: `They could not be read: ${error.message}.` }));
        return;
    }
    renderMismatches();
}

function keepMismatches(items) {
    const bySeq = new Map(items.map((item) => [item.seq, item]));
    mismatchList.items = [...bySeq.values()].sort((a, b) => b.seq - a.seq).slice(0, MISMATCHES_KEPT);
}

function takeMismatch(item) {
    keepMismatches([item, ...mismatchList.items]);
    renderMismatches();
}

function answerText(answer) {
    return answer ? `${answer.status} ${String(answer.hash).slice(0, 8)}` : "–";
}

function makeMismatch(item) {
    const paths = item.paths || [];
    const first = paths.length ? paths[0] || "(the whole answer)" : item.kind;
    const summary = paths.length > 1 ? `${first} and ${paths.length - 1} more` : first;
    const details = h("details", {},
        h("summary", {},
            h("span", { class: "when" }, timeNode(item.at)),
            h("code", { class: "target", text: `${item.method} ${item.target}` }),
            h("span", { class: "kind", text: item.kind }),
            h("span", { class: "paths small", text: summary })));
    // Made only when it is looked at.
    details.addEventListener("toggle", () => {
        if (details.open && details.children.length === 1) details.append(mismatchDetails(item, paths));
    });
    return h("li", {}, details);
}

function mismatchDetails(item, paths) {
    const values = item.values || [];
    // Values are kept only where the configuration says so.
    const shown = values.length ? sides : [];
    const code = (text) => h("code", { text: text ?? "–" });
    const rows = paths.map((path, index) => h("tr", {},
        h("th", { scope: "row" }, code(path || "(the whole answer)")),
        ...shown.map((side) => h("td", {}, code(values[index]?.[side])))));
    const answers = sides.map((side) => h("div", { "data-side": side }, h("dt", { text: side }),
        h("dd", {}, `answered ${item[side]?.status ?? "–"}, hash `, code(item[side]?.hash))));
    const table = h("table", { class: "plain" }, columns(["differing path", ...shown]), h("tbody", {}, ...rows));
    return h("div", { class: "inside" }, h("dl", { class: "both" }, ...answers), rows.length
        ? scroller("Differing paths", table) : h("p", { class: "small", text: "No path: they differ as a whole." }));
}

function renderMismatches() {
    const host = byId("mismatches");
    if (!mismatchList.items.length) {
        host.replaceChildren(h("p", { class: "none", text: "None on record." }));
        return;
    }
    if (!host.querySelector("ul")) {
        host.replaceChildren(h("ul", { class: "rows folded" }), h("div", { class: "after" }));
    }
    sync(host.querySelector("ul"), mismatchList.items, (item) => item.seq, makeMismatch);
    const older = mismatchList.next !== null && mismatchList.items.length < MISMATCHES_KEPT;
    sync(host.querySelector(".after"), older ? [mismatchList.next] : [], () => "older",
        () => button("Show older ones", () => loadMismatches(mismatchList.next), { class: "quiet" }));
}
