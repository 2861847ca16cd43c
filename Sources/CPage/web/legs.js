// Writes on their way: outstanding legs and how fast each backend catches up; parked legs and their replay.

const PARKED_PAGE = 50;
const parked = { rows: [], next: null, shownFor: null };

function catchUpText(status, side) {
    const pending = status.journal.pending?.[side] ?? 0;
    const { rate, seconds } = status.journal.catch_up?.[side] || {};
    if (pending === 0) return "has everything";
    if (seconds !== null && seconds !== undefined) {
        const left = seconds < 1 ? "within a second" : `in about ${durationText(seconds)}`;
        return `catches up ${left}, ${countText(rate)} a second`;
    }
    if (status.backends?.[side]?.healthy === false) return "does not answer; the legs wait in the journal";
    return rate > 0 ? `${countText(rate)} a second, not fewer yet` : "not becoming fewer";
}

function renderLegs() {
    const { status } = view;
    const host = byId("legs");
    if (!host.firstChild) {
        const rows = sides.map((side) => h("tr", { "data-side": side }, h("th", { scope: "row", text: side }),
            h("td", { class: "count" }), h("td", { class: "oldest" }), h("td", { class: "catch-up" })));
        host.append(scroller("Writes on their way, by backend", h("table", { class: "plain" },
            columns(["to", "outstanding", "oldest waits", "catching up"]), h("tbody", {}, ...rows))));
    }
    for (const row of host.querySelectorAll("tbody tr")) {
        const { side } = row.dataset;
        const pending = status.journal.pending?.[side] ?? 0;
        say(row.querySelector(".count"), countText(pending));
        const oldest = status.journal.oldest_pending_seconds?.[side];
        say(row.querySelector(".oldest"), pending > 0 ? durationText(oldest) : "–");
        say(row.querySelector(".catch-up"), catchUpText(status, side));
    }
    say(byId("parked-title"), `Parked legs: ${countText(status.journal.parked)}`);
    if (parked.shownFor !== status.journal.parked) loadParked(status.journal.parked);
}

async function loadParked(count) {
    parked.shownFor = count;
    if (count === 0) {
        parked.rows = [];
        parked.next = null;
        return renderParked();
    }
    await loadMoreParked(null);
}

async function loadMoreParked(cursor) {
    try {
        const more = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
        const answer = await get(`journal?parked=true&limit=${PARKED_PAGE}${more}`);
        parked.rows = cursor === null ? answer.items : [...parked.rows, ...answer.items];
        parked.next = answer.next;
        renderParked();
    } catch (error) {
        say(byId("parked-says"), `The parked legs could not be read: ${error.message}.`);
    }
}

function parkedSides(row) {
    return sides.filter((side) => row.legs?.[side]?.state === "parked");
}

function makeParked(row) {
    const which = parkedSides(row);
    const refusal = which.map((side) => {
        const { last_status: status, attempts } = row.legs[side];
        return `${side} ${status ? `answered ${status}` : "refused"}, attempts: ${countText(attempts ?? 0)}`;
    }).join("; ");
    return h("li", {},
        h("div", { class: "what" },
            h("p", {}, h("code", { text: `${row.method} ${row.target}` })),
            h("p", { class: "small" }, timeNode(row.at), ` · change ${row.seq}`,
                row.user === null ? "" : ` · user ${row.user}`, ` · ${refusal}`)),
        button("Replay", () => replay({ seqs: [row.seq] }),
            { class: "needs-token", "data-action": "replay", "aria-label": `Replay change ${row.seq}` }));
}

function renderParked() {
    const host = byId("parked");
    if (!parked.rows.length) {
        host.replaceChildren(h("p", { class: "none", text: "None." }));
        return;
    }
    if (!host.querySelector("ul")) host.replaceChildren(h("ul", { class: "rows" }), h("div", { class: "after" }));
    sync(host.querySelector("ul"), parked.rows, (row) => row.seq, makeParked);
    const after = host.querySelector(".after");
    after.replaceChildren();
    if (parked.next !== null) {
        after.append(button("Show older ones", () => loadMoreParked(parked.next), { class: "quiet" }));
    }
    if (view.status.journal.parked > 1) {
        const all = button("Replay all", null, { class: "needs-token", "data-action": "replay-all" });
        const again = `Press again: replay ${many(view.status.journal.parked, "leg")}`;
        after.append(twice(all, "Replay all", again, () => replay({ all_parked: true })));
    }
    renderActions();
}

// Legs that the gateway did not send, because the record was written again since.
function heldText(held) {
    if (!held.length) return "";
    const [first] = held;
    const more = held.length > 1 ? ` So ${held.length > 2 ? "are" : "is"} ${countText(held.length - 1)} more.` : "";
    return `Not sent: ${first.reason}.${more} Look at the records; cutover journal settle keeps what the backend has, `
        + "cutover journal replay --force puts the old content there.";
}

async function replay(body) {
    if (!mayChange("Replaying a leg")) return;
    const says = byId("parked-says");
    say(says, "Replaying …");
    try {
        const answer = await change("POST", "journal/replay", { ...body, reason: PAGE_REASON });
        const held = answer.held ?? [];
        const sent = answer.replayed || !held.length
            ? `${many(answer.replayed, "change")} on the way again. What is refused once more comes back here. ` : "";
        say(says, sent + heldText(held));
        parked.shownFor = null;
        feed.restart();
    } catch (error) {
        say(says, `Nothing was replayed: ${explain(error).join(" ")}`);
    }
}
