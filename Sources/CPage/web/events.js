// Who changed what, when and why: newest first, live, and all of it as a file.

const EVENT_PAGE = 25;
const EVENTS_KEPT = 500;
const eventList = { items: [], next: null };

async function loadEvents(cursor) {
    try {
        const more = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
        const answer = await get(`events?limit=${EVENT_PAGE}${more}`);
        keepEvents([...eventList.items, ...answer.items]);
        if (cursor !== null || eventList.next === null) eventList.next = answer.next;
        say(byId("events-says"), "");
    } catch (error) {
        say(byId("events-says"), `The events could not be read: ${error.message}.`);
    }
    renderEvents();
}

function keepEvents(items) {
    const bySeq = new Map(items.map((item) => [item.seq, item]));
    eventList.items = [...bySeq.values()].sort((a, b) => b.seq - a.seq).slice(0, EVENTS_KEPT);
    feed.lastEventId = eventList.items[0]?.seq ?? feed.lastEventId;
}

function takeEvent(item) {
    keepEvents([item, ...eventList.items]);
    renderEvents();
}

/** A value of an event's before or after as a word. */
function valueText(name, value) {
    if (value === null || value === undefined) return "–";
    if (name.endsWith("percent") && typeof value === "number") return percentText(value);
    if (typeof value === "object") return JSON.stringify(value);
    return String(value);
}

const FIELD_WORDS = {
    percent: "on new", shadow_percent: "shadow", dual_write: "both written", legacy_writes: "legacy written",
};

const BEGIN = ["stage", "percent", "state"];
/** These differ after every change and tell nobody anything. */
const SILENT = ["since", "state_since", "generation", "keep_waits"];

/** What differs between two states, as `{name, before, after}`; what only tells when is left out. */
function differences(before, after) {
    if (before === null && typeof after === "object" && after) {
        // The begin of everything: where it began says enough.
        return BEGIN.filter((name) => name in after).map((name) => (
            { name: FIELD_WORDS[name] || name, before: null, after: valueText(name, after[name]) }));
    }
    if (typeof before !== "object" || typeof after !== "object" || !before || !after) {
        return JSON.stringify(before) === JSON.stringify(after) ? []
            : [{ name: "value", before: valueText("", before), after: valueText("", after) }];
    }
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.filter((name) => !SILENT.includes(name))
        .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
        .map((name) => ({ name: FIELD_WORDS[name] || name.replaceAll("_", " "),
            before: valueText(name, before[name]), after: valueText(name, after[name]) }));
}

function changeNodes(item) {
    const list = differences(item.before, item.after);
    return list.map(({ name, before, after }) => h("span", { class: "change" },
        h("span", { class: "name", text: `${name} ` }),
        ...(before === null ? [] : [before, h("span", { class: "arrow", text: " → " })]), after));
}

function makeEvent(item) {
    // The roles are those that they have anyway, unless they are stacked: then a browser would forget them.
    return h("tr", { role: "row" },
        h("td", { role: "cell" }, timeNode(item.at)),
        h("td", { role: "cell", text: item.actor }),
        h("th", { role: "rowheader", scope: "row", text: item.action }),
        h("td", { role: "cell", class: "changes" }, ...changeNodes(item)),
        h("td", { role: "cell", class: "why", text: item.reason || "–" }));
}

function renderEvents() {
    const host = byId("events");
    if (!eventList.items.length) {
        host.replaceChildren(h("p", { class: "none", text: "Nothing yet." }));
        return;
    }
    if (!host.querySelector("table")) {
        const names = ["when", "who", "what", "before → after", "why"];
        host.replaceChildren(
            scroller("Events", h("table", { class: "plain events", role: "table" },
                columns(names), h("tbody", { role: "rowgroup" }))),
            h("div", { class: "after" }));
    }
    sync(host.querySelector("tbody"), eventList.items, (item) => item.seq, makeEvent);
    const older = eventList.next !== null && eventList.items.length < EVENTS_KEPT;
    sync(host.querySelector(".after"), older ? [eventList.next] : [], () => "older",
        () => button("Show older ones", () => loadEvents(eventList.next), { class: "quiet" }));
}

/** Fetched, not linked to, because a link cannot carry a token. */
async function exportEvents() {
    const says = byId("events-says");
    say(says, "Reading …");
    try {
        const file = await get("events?format=ndjson", (response) => response.blob());
        const link = h("a", { href: URL.createObjectURL(file), download: "cutover-events.ndjson" });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
        say(says, "Saved.");
    } catch (error) {
        say(says, `Not saved: ${explain(error).join(" ")}`);
    }
}
