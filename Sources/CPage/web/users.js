// Who serves a user and why, in the sentence that `cutover explain` prints.

function explainUser(user, rollout) {
    const name = `User ${user.user}`;
    const served = `served by ${user.side} since ${timeText(user.since)}`;
    const place = user.bucket === null ? "no bucket" : `bucket ${user.bucket} of 10000`;
    const stage = rollout.stage
        ? `stage ${stageText(rollout.stage, rollout.percent)}` : `the percent (${percentText(rollout.percent)})`;
    const admitted = `${place}, ${stage} admits it`;
    const needs = user.percent_needed === null ? "" : ` (it needs ${percentText(user.percent_needed)})`;
    const other = user.side === "new" ? "legacy" : "new";
    switch (user.reason) {
    case "in-percent": return `${name}: ${admitted}; ${served}.`;
    case "outside-percent": return `${name}: ${place}, ${stage} does not admit it${needs}; ${served}.`;
    case "pinned-legacy":
    case "pinned-new":
        return `${name}: pinned to ${user.side} by an operator, whatever the percent (${place}); ${served}.`;
    case "anonymous": return `${name}: anonymous, so there is nothing to split by; ${served}.`;
    case "not-backfilled": return `${name}: ${admitted}, but its history is not copied to new yet; ${served}.`;
    case "behind":
        return `${name}: ${admitted}, but writes of theirs are still on their way to new; ${served} until they hold.`;
    case "breaker-open":
        return `${name}: ${admitted}, but new is failing and its breaker is open; ${served} meanwhile.`;
    case "draining":
        return `${name}: moves to ${other}, but writes are still on their way there; ${served} until they hold.`;
    default: return `${name}: ${place}; ${served} (${user.reason}).`;
    }
}

let shownUser = null;

async function lookUp(id) {
    const host = byId("user-says");
    try {
        const user = await get(`users/${encodeURIComponent(id)}`);
        shownUser = user;
        renderUser();
    } catch (error) {
        shownUser = null;
        host.replaceChildren(h("p", { class: "none", text: `Not found out: ${explain(error).join(" ")}` }));
    }
}

function renderUser() {
    if (!shownUser || !view.status) return;
    const user = shownUser;
    const pinned = user.pin !== null && user.pin !== undefined;
    byId("user-says").replaceChildren(
        h("p", { class: "answer", "data-side": user.side, text: explainUser(user, view.status.rollout) }),
        h("div", { class: "actions" },
            ...sides.filter((side) => user.pin !== side).map((side) => pinButton(`Keep on ${side}`, user, side)),
            ...(pinned ? [pinButton("Let the percent decide", user, null)] : [])),
        h("p", { class: "says", id: "pin-says", role: "status" }));
    renderActions();
}

function pinButton(text, user, side) {
    return button(text, () => pin(user.user, side), { class: "needs-token" });
}

async function pin(user, side) {
    if (!mayChange("Pinning a user")) return;
    const path = `users/${encodeURIComponent(user)}/pin`;
    try {
        if (side === null) await change("DELETE", path, { reason: PAGE_REASON });
        else await change("PUT", path, { side, reason: PAGE_REASON });
        await lookUp(user);
    } catch (error) {
        say(byId("pin-says"), `Nothing was changed: ${explain(error).join(" ")}`);
    }
}

function startUsers() {
    byId("user-form").addEventListener("submit", (event) => {
        event.preventDefault();
        const id = byId("user").value.trim();
        if (id) return lookUp(id);
        // A blank id is nobody's: the answer about another one must not stand under it.
        shownUser = null;
        byId("user-says").replaceChildren();
    });
}
