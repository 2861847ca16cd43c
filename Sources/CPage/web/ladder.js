// The stages of the plan as rungs: what is done, where we are, what holds the next step.

function rungStates(stages, rollout) {
    const here = stages.findIndex((stage) => stage.name === rollout.stage);
    return stages.map((stage, index) => ({
        ...stage, index,
        step: index === here ? "here" : index < here ? "done" : index === here + 1 ? "next" : "later",
    }));
}

const STEP_WORDS = { here: "we are here", later: "later" };

/**
 * The stages that this attempt has been in, by the events since it began; `isWhole`: these are all of them. An attempt
 * begins with a rollback, or with everything.
 */
function stagesOfAttempt() {
    const seen = new Set();
    for (const { before, after } of eventList.items) {
        const began = before === null || (after?.state === "rolled_back" && before?.state !== "rolled_back");
        for (const one of began ? [after] : [before, after]) if (one?.stage) seen.add(one.stage);
        if (began) return { seen, isWhole: true };
    }
    return { seen, isWhole: eventList.items.length > 0 && eventList.next === null };
}

function stepWords(stage) {
    if (stage.step === "next") return `next, ${nextBy()}`;
    if (stage.step !== "done") return STEP_WORDS[stage.step];
    const { seen, isWhole } = stagesOfAttempt();
    if (seen.has(stage.name)) return "passed";
    return isWhole ? "skipped" : "before";
}

/** Who makes the next step: what is asked first at night. */
function nextBy() {
    if (goesByItself(view.status)) return "by itself";
    const { next, rollout } = view.status;
    return next?.mode === "automatic" && rollout.state === "paused" ? "not while paused" : "by a person";
}

function makeRung(stage) {
    return h("li", { class: "rung" },
        h("div", { class: "rail", "aria-hidden": "true" }, h("span", { class: "knot" })),
        h("div", { class: "text" },
            h("p", { class: "title" }, h("span", { class: "name", text: stage.name }), h("span", { class: "step" })),
            h("p", { class: "number" }),
            h("p", { class: "small hold" }),
            h("div", { class: "held", hidden: true }, h("span", { class: "bar" })),
            h("ul", { class: "blocks" })));
}

function holdText(stage) {
    if (!stage.hold_seconds) return "no hold";
    return `hold ${durationText(stage.hold_seconds)}`;
}

function updateRung(node, stage) {
    const { rollout, next } = view.status;
    const isHere = stage.step === "here";
    mark(node, "data-step", stage.step);
    mark(node, "aria-current", isHere ? "step" : null);
    say(node.querySelector(".step"), stepWords(stage));
    const differs = isHere && rollout.percent !== stage.percent;
    say(node.querySelector(".number"), percentText(differs ? rollout.percent : stage.percent));
    const details = [differs ? `set by hand; planned ${percentText(stage.percent)}` : holdText(stage)];
    if (stage.dual_write === false) details.push("legacy is not written");
    if (stage.shadow_percent === 0) details.push("no shadow reads");
    else if (stage.shadow_percent !== 100) details.push(`shadow reads of ${percentText(stage.shadow_percent)}`);
    const held = node.querySelector(".held");
    const counts = isHere && next?.hold_seconds > 0;
    held.hidden = !counts;
    if (counts) {
        const share = Math.min(1, next.held_seconds / next.hold_seconds);
        held.querySelector(".bar").style.inlineSize = `${share * 100}%`;
        details[0] = `${durationText(next.held_seconds)} of ${durationText(next.hold_seconds)} under load`;
        if (next.idle_seconds >= 60) details.push(`${durationText(next.idle_seconds)} idle, not counted`);
    }
    say(node.querySelector(".hold"), details.join(" · "));
    const holds = stage.step === "next" && next?.stage === stage.name ? nextHolds(next) : [];
    sync(node.querySelector(".blocks"), holds, (text) => text, (text) => h("li", { text }));
}

/** What the next step waits for, in a few sentences. */
function nextHolds(next) {
    const { status } = view;
    if (next.ready) return [goesByItself(status) ? "Goes on by itself" : "Ready: waits for you"];
    // After a rollback no gate is waited for: somebody has to begin anew.
    const open = status.rollout.state === "rolled_back" ? [] : openGates(status);
    return [...new Set([...sickSentences(status), ...holdsOf(status), ...open])].slice(0, 3).map(sentence);
}

function renderLadder() {
    const stages = view.rollout?.stages || [];
    const rungs = rungStates(stages, view.status.rollout);
    sync(byId("ladder"), rungs, (stage) => `${stage.index} ${stage.name}`, makeRung, updateRung);
    byId("ladder").style.setProperty("--rungs", String(Math.max(1, stages.length)));
    byId("no-ladder").hidden = view.rollout === null || stages.length > 0;
}
