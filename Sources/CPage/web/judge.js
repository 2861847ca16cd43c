// One plain sentence: is it safe to go on, and if not, why not. A function of what the gateway said last; it never says
// "safe" on anything less than the gateway's own `next.ready`.

const sides = ["legacy", "new"];

function stageText(stage, percent) {
    return stage ? `${stage} (${percentText(percent)})` : percentText(percent);
}

/** The gates that say so. One that cannot apply in this stage holds nothing. */
function gatesThatSay(status, ...verdicts) {
    return (status.gates || []).filter((gate) => gate.applies !== false && verdicts.includes(gate.verdict));
}

/** Failing gates in the words that the gateway has for what holds a step. */
function failures(status) {
    return gatesThatSay(status, "fail").map((gate) => `gate ${gate.name} fails: ${gate.reason}`);
}

function isAboveLimit(gate) { return isSet(gate.threshold) && isSet(gate.value) && gate.value > gate.threshold; }

/** The gates that have nothing to go by yet, all in one sentence: what each of them lacks stands at its figure. */
function openGates(status) {
    const open = gatesThatSay(status, "insufficient", "warming_up");
    if (!open.length) return [];
    const names = open.map((gate) => (isAboveLimit(gate) ? `${gate.name} (above its limit, not proven)` : gate.name))
        .join(", ");
    return [`${open.length === 1 ? "one gate" : `${open.length} gates`} cannot say yet: ${names}`];
}

/** Why it is too early: no traffic, else what the first gate lacks; null when every gate says something. */
function whyTooEarly(status) {
    const [first] = gatesThatSay(status, "insufficient", "warming_up");
    if (!first) return null;
    const idle = status.next?.blocked_by.find((hold) => hold.includes("traffic"));
    if (idle) return idle;
    return first.verdict === "warming_up" ? first.reason.split("; so far")[0] : `gate ${first.name}: ${first.reason}`;
}

/** What holds the next step, but for the gates that cannot say yet. */
function holdsOf(status) {
    const open = gatesThatSay(status, "insufficient", "warming_up").map((gate) => `gate ${gate.name} cannot`);
    return (status.next?.blocked_by || []).filter((hold) => !open.some((begin) => hold.startsWith(begin)));
}

function sickSentences(status) {
    return sides.filter((side) => status.backends?.[side]?.healthy === false)
        .map((side) => `${side} does not answer; its breaker is open`);
}

/** What an operator should know besides, whatever the judgement. */
function notes(status) {
    const list = (status.rollout.keep_waits || []).map((reason) => (
        `keep has ended, legacy is still written: ${reason}`));
    const journal = status.journal || {};
    if (journal.parked > 0) {
        list.push(`${many(journal.parked, "parked leg")} ${journal.parked === 1 ? "waits" : "wait"} for an operator`);
    }
    if (journal.catching_up?.legacy) {
        const left = many(journal.pending?.legacy ?? 0, "write");
        list.push(`legacy is catching up after a rollback: ${left} still on the way`);
    }
    if (journal.missing?.legacy > 0) {
        list.push(`legacy lacks ${many(journal.missing.legacy, "change")}: reverse-sync brings them`);
    }
    if (status.store?.stale) list.push("the shared store is away: what other gateways did may be missing here");
    return list;
}

/** When the state as it is now began. A stage may have begun days before its pause. */
function stateSince(rollout) { return rollout.state_since ?? rollout.since; }

/** Whether the gateway makes the next step itself, in the state as it is now. */
function goesByItself(status) {
    return status.next?.mode === "automatic" && ["running", "complete"].includes(status.rollout.state);
}

/** What comes if nobody does anything, and when; nothing where a person is waited for. */
function coming(status, goal) {
    if (!goesByItself(status)) return [];
    const left = status.next.hold_seconds - status.next.held_seconds;
    const when = left > 0 ? `after ${durationText(left)} more under load, if every gate passes then`
        : "as soon as every gate passes";
    return [`It goes on to ${goal} by itself ${when}.`];
}

/** How a rollout that is rolled back starts again. */
function newAttempt(rollout) {
    return rollout.plan ? "promote starts a new attempt, with fresh windows."
        : "cutover set-percent N starts a new attempt.";
}

function reasonOf(status) {
    return status.rollout.state_reason ? `: ${status.rollout.state_reason}` : "";
}

/**
 * The judgement of a status: `tone` good | bad | unsure | paused, `sign`, `headline`, `points`, and `key`, which
 * changes only when the judgement does (numbers within it may change each second, and nobody wants that read aloud).
 */
function judge(status) {
    const { rollout, next } = status;
    const bad = [...failures(status), ...sickSentences(status)];
    const open = openGates(status);
    const holds = holdsOf(status);
    const goal = next ? stageText(next.stage, next.percent) : null;
    const found = (tone, sign, key, headline, points) => {
        // The headline has said the first one already.
        const said = headline.toLowerCase();
        const rest = [...points, ...notes(status)].filter((point) => !said.includes(point.toLowerCase()));
        return { tone, sign, key: `${key} ${goal ?? ""}`, headline, points: [...new Set(rest)] };
    };
    switch (rollout.state) {
    case "rolled_back":
        return found("bad", "back", "rolled back", `Rolled back at ${timeText(stateSince(rollout))}${reasonOf(status)}`,
            [`Nothing advances by itself any more; ${newAttempt(rollout)}`, ...bad]);
    case "complete":
        return bad.length
            ? found("bad", "bad", "complete, bad", `Complete, but look: ${bad[0]}`, bad)
            : found("good", "good", "complete", "Complete: everybody is on new", completePoints(rollout));
    default: break;
    }
    if (bad.length) {
        const advice = next || !rollout.plan ? "Do not go on" : "Roll back, or mend it";
        return found("bad", "bad", "bad", `${advice}: ${bad[0]}`, [...bad, ...coming(status, goal), ...holds]);
    }
    if (rollout.state === "paused") {
        return found("paused", "paused", "paused", `Paused at ${timeText(stateSince(rollout))}${reasonOf(status)}`, [
            "Nothing advances by itself until somebody resumes. The gates still act.", ...holds, ...open]);
    }
    if (!next) return withoutNext(status, open, found);
    if (next.ready) return readyJudgement(status, goal, found);
    const early = whyTooEarly(status);
    if (early) return found("unsure", "unsure", "early", `Too early to say: ${early}`,
        [...coming(status, goal), ...holds, ...open]);
    return found("unsure", "wait", "hold", `Not yet: ${holds[0] || "the gateway has not said what holds it"}`, [
        ...coming(status, goal), ...holds, "Every gate passes so far."]);
}

function readyJudgement(status, goal, found) {
    const { rollout, next } = status;
    const points = [`Every gate passes; ${rollout.stage} was under load for ${durationText(next.held_seconds)}`
        + (next.hold_seconds > 0 ? ` of the ${durationText(next.hold_seconds)} it is held.` : ".")];
    if (goesByItself(status)) {
        return found("good", "good", "going on", `Going on to ${goal} by itself`, points);
    }
    const ready = next.waiting_seconds >= 60 ? `, and has been ready for ${durationText(next.waiting_seconds)}` : "";
    points.push(`It waits for a person${ready}.`);
    return found("good", "good", "safe", `Safe to go on to ${goal}`, points);
}

function withoutNext(status, open, found) {
    const { rollout } = status;
    if (!rollout.plan) {
        const now = percentText(rollout.percent);
        return found("unsure", "unsure", "no plan", `No plan: the percent is set by hand, now ${now}`, open);
    }
    const early = whyTooEarly(status);
    if (early) return found("unsure", "unsure", "last, early", `Too early to say: ${early}`, open);
    const here = stageText(rollout.stage, rollout.percent);
    return found("good", "good", "last", `In the last stage, ${here}: every gate passes`, []);
}

function completePoints(rollout) {
    if (rollout.legacy_unwritten_since) {
        return [`Legacy has not been written since ${timeText(rollout.legacy_unwritten_since)}.`];
    }
    return rollout.keep_ends_at ? [`Legacy goes on being written until ${timeText(rollout.keep_ends_at)}.`] : [];
}

// MARK: On the page

let judgementKey = null;

/** The judgement of this moment: that there is none, while the gateway cannot be heard. */
function presentJudgement() {
    if (feed.isStale) {
        const last = judge(view.status);
        return { tone: "stale", sign: "stale", key: "stale", points: [],
            headline: `Nobody can say: no word from the gateway since ${timeText(feed.heardWall, true)}`,
            last: `Then it was: ${last.headline}` };
    }
    return judge(view.status);
}

function renderJudgement() {
    if (!view.status) return;
    const found = presentJudgement();
    mark(byId("judgement"), "data-tone", found.tone);
    mark(byId("headline-sign"), "href", `#sign-${found.sign}`);
    say(byId("headline"), tight(found.headline));
    const points = [...(found.last ? [found.last] : []), ...found.points].slice(0, 6).map(sentence);
    sync(byId("points"), points, (point) => point, (point) => h("li", { text: point }));
    const { rollout } = view.status;
    const where = `${rollout.stage ?? ""} ${percentText(rollout.percent)}`;
    document.title = visible(
        `${found.tone === "stale" ? "stale: " : ""}${where} · ${found.headline.slice(0, 60)} · Cutover`);
    if (judgementKey !== null && judgementKey !== found.key) announce(found.headline);
    judgementKey = found.key;
}

function renderWhere() {
    const { rollout } = view.status;
    const field = (name) => document.querySelector(`[data-field="${name}"]`);
    say(field("stage"), rollout.stage ?? "none");
    say(field("percent"), percentText(rollout.percent));
    say(field("state"), rollout.state);
    mark(field("state"), "data-state", rollout.state);
    say(byId("since"), ` since ${timeText(rollout.since)}`);
    say(byId("state-since"), rollout.state_since ? ` since ${timeText(rollout.state_since)}` : "");
    say(byId("plan"), rollout.plan ?? "no plan");
}
