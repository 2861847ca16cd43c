// The buttons that move the rollout, rollback apart: promote shows first what it will do; pause and resume act at once.

const PAGE_REASON = "by the operators' page";

/** Enabled, or not and why: one place for all of them. */
function renderActions() {
    if (!view.status) return;
    const { rollout } = view.status;
    const refusal = changeRefusal();
    const stale = feed.isStale;
    const button = (name) => document.querySelector(`[data-action="${name}"]`);
    const isViewer = session.role === "viewer";
    button("promote").disabled = isViewer || stale || rollout.state === "complete" || !rollout.plan;
    button("pause").disabled = isViewer || stale || rollout.state !== "running";
    button("resume").disabled = isViewer || stale || rollout.state !== "paused";
    button("rollback").disabled = isViewer;
    for (const one of document.querySelectorAll(".needs-token")) one.disabled = isViewer || stale;
    say(byId("actions-why"), stale ? "While the gateway does not answer, only rollback is offered: it keeps trying." : refusal || "");
    // The eye goes to it only while it is safe to press.
    button("promote").classList.toggle("solid", presentJudgement().tone === "good");
    say(button("promote"), view.status.next ? `Promote to ${view.status.next.stage} …` : "Promote …");
    renderRollbackButton();
}

async function pauseOrResume(action) {
    if (!mayChange(action === "pause" ? "Pausing" : "Resuming")) return;
    const says = byId("change-says");
    try {
        const answer = await change("POST", `rollout/${action}`, { reason: PAGE_REASON });
        say(says, `${action === "pause" ? "Paused" : "Resumed"}.`);
        takeAfter(answer);
    } catch (error) {
        say(says, `Not done: ${explain(error).join(" ")}`);
    }
}

/** A change's answer is newer than the last status: shown at once, and the status follows. */
function takeAfter(answer) {
    if (view.status && answer.after && typeof answer.after === "object") {
        view.status.rollout = { ...view.status.rollout, ...answer.after, generation: answer.generation };
        view.aheadUntil = performance.now() + 2_000;
        renderStatus();
    }
    refresh();
}

// MARK: The next step

/** What is looked at: the command's path and body, and the generation that the operator saw. */
let step = null;

function openStep() {
    if (!mayChange("Promoting")) return;
    lookAtStep({ path: "rollout/promote", body: {}, generation: view.status.rollout.generation });
}

async function lookAtStep(wanted) {
    step = wanted;
    const panel = byId("step");
    panel.hidden = false;
    mark(document.querySelector('[data-action="promote"]'), "aria-expanded", "true");
    say(byId("step-title"), "The next step");
    byId("step-body").replaceChildren(h("p", { text: "Asking the gateway what it would do …" }));
    panel.focus();
    try {
        const answer = await change("POST", wanted.path, { ...wanted.body, dry_run: true }, { generation: wanted.generation });
        if (step === wanted) showPreview(wanted, answer);
    } catch (error) {
        if (step === wanted) showRefusal(wanted, error);
    }
}

function closeStep() {
    step = null;
    const panel = byId("step");
    const held = panel.contains(document.activeElement);
    panel.hidden = true;
    const promote = document.querySelector('[data-action="promote"]');
    mark(promote, "aria-expanded", "false");
    if (held) promote.focus();
}

function stepButtons(...first) {
    return h("div", { class: "actions" }, ...first, h("button", { type: "button", class: "quiet", text: "Not now", onclick: closeStep }));
}

function showRefusal(wanted, error) {
    say(byId("step-title"), "The gateway refuses this step");
    const retry = h("button", { type: "button", text: "Look again",
        onclick: () => lookAtStep({ ...wanted, body: {}, generation: view.status.rollout.generation }) });
    const force = error.status === 409 && !wanted.body.force
        ? [h("button", { type: "button", class: "danger", text: "Look at forcing it …",
            onclick: () => lookAtStep({ ...wanted, body: { force: true }, generation: view.status.rollout.generation }) })] : [];
    byId("step-body").replaceChildren(
        h("ul", { class: "reasons bad" }, ...explain(error).map((text) => h("li", { text: sentence(text) }))),
        stepButtons(retry, ...force));
}

function moved(before, after) {
    const difference = (after?.percent ?? 0) - (before?.percent ?? 0);
    if (!difference) return "The same users stay where they are.";
    return difference > 0 ? `${percentText(difference)} more of the users are read from new; nobody else is moved.`
        : `${percentText(-difference)} of the users go back to legacy.`;
}

function showPreview(wanted, answer) {
    const { before, after } = answer;
    say(byId("step-title"), `Promote to ${stageText(after?.stage, after?.percent)}?`);
    const rows = differences(before, after).map(({ name, before: from, after: to }) => h("tr", {},
        h("th", { scope: "row", text: name }), h("td", { text: from }), h("td", { class: "arrow", "aria-hidden": "true", text: "→" }), h("td", { class: "to", text: to })));
    const forced = Boolean(wanted.body.force);
    const reason = h("input", { id: "step-reason", type: "text", maxlength: "500", autocomplete: "off", required: forced });
    const says = h("p", { class: "says", role: "alert" });
    const confirm = h("button", { type: "submit", class: forced ? "danger" : "solid", "data-confirm": "promote",
        text: `${forced ? "Force" : "Go on to"} ${stageText(after?.stage, after?.percent)}` });
    const form = h("form", { onsubmit: (event) => { event.preventDefault(); takeStep(wanted, reason.value.trim(), confirm, says); } },
        h("label", { for: "step-reason", text: forced ? "Why it is forced (needed)" : "Why (optional; kept with the event)" }), reason, stepButtons(confirm), says);
    byId("step-body").replaceChildren(
        h("table", { class: "before-after" }, h("caption", { class: "unseen", text: "before and after" }), h("tbody", {}, ...rows)),
        h("p", { text: moved(before, after) }),
        h("ul", { class: "reasons" }, ...(answer.warnings || []).map((text) => h("li", {}, sign("note"), h("span", { text: sentence(text) })))),
        form);
    confirm.focus();
}

async function takeStep(wanted, reason, confirm, says) {
    confirm.disabled = true;
    try {
        const body = { ...wanted.body, reason: reason || PAGE_REASON };
        const answer = await change("POST", wanted.path, body, { generation: wanted.generation });
        say(byId("change-says"), `Done: ${stageText(answer.after?.stage, answer.after?.percent)} since now.`);
        closeStep();
        takeAfter(answer);
    } catch (error) {
        confirm.disabled = error.status === 412;
        says.replaceChildren(...explain(error).map((text) => h("span", { text: `${sentence(text)} ` })));
        if (error.status === 409 || error.status === 412) {
            says.append(h("button", { type: "button", text: "Look again",
                onclick: () => lookAtStep({ ...wanted, body: {}, generation: view.status.rollout.generation }) }));
        }
    }
}

/** A button that acts on the second press within a few seconds. */
function twice(button, words, again, act) {
    let clock = null;
    const rest = () => { clearTimeout(clock); clock = null; say(button, words); };
    say(button, words);
    button.addEventListener("click", () => {
        if (clock !== null) { rest(); act(); return; }
        say(button, again);
        clock = setTimeout(rest, 6_000);
    });
    button.addEventListener("blur", rest);
    return button;
}

function startChanges() {
    document.querySelector('[data-action="promote"]').addEventListener("click", () => (step ? closeStep() : openStep()));
    for (const action of ["pause", "resume"]) {
        document.querySelector(`[data-action="${action}"]`).addEventListener("click", () => pauseOrResume(action));
    }
    byId("events-export").addEventListener("click", exportEvents);
}
