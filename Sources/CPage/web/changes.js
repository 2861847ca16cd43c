// The buttons that move the rollout, rollback apart: promote shows first what it will do; pause and resume act at once.

const PAGE_REASON = "from the operators' page";

function actionButton(name) {
    return document.querySelector(`[data-action="${name}"]`);
}

/** Enabled, or not and why: one place for all of them. */
function renderActions() {
    if (!view.status) return;
    const { rollout } = view.status;
    const refusal = changeRefusal();
    const stale = feed.isStale;
    const isViewer = session.role === "viewer";
    // In the last stage there is nothing to go on to; without a plan there never is.
    actionButton("promote").disabled = isViewer || stale || rollout.state === "complete" || !view.status.next;
    actionButton("pause").disabled = isViewer || stale || !["running", "complete"].includes(rollout.state);
    actionButton("resume").disabled = isViewer || stale || rollout.state !== "paused";
    actionButton("rollback").disabled = isViewer;
    for (const one of document.querySelectorAll(".needs-token")) one.disabled = isViewer || stale;
    const onlyBack = "While the gateway does not answer, only rollback is offered: it keeps trying.";
    say(byId("actions-why"), stale ? onlyBack : refusal || "");
    // The eye goes to it only while it is safe to press.
    actionButton("promote").classList.toggle("solid", presentJudgement().tone === "good");
    say(actionButton("promote"), view.status.next ? `Promote to ${view.status.next.stage} …` : "Promote …");
    renderRollbackButton();
}

async function pauseOrResume(action) {
    if (!mayChange(action === "pause" ? "Pausing" : "Resuming")) return;
    const says = byId("change-says");
    try {
        const answer = await change("POST", `rollout/${action}`, { reason: PAGE_REASON });
        // What comes next, as that a gate which still fails will pause it again, is in the warnings.
        const warnings = (answer.warnings || []).map((text) => ` ${sentence(text)}.`);
        say(says, `${action === "pause" ? "Paused" : "Resumed"}.${warnings.join("")}`);
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
    mark(actionButton("promote"), "aria-expanded", "true");
    say(byId("step-title"), "The next step");
    byId("step-body").replaceChildren(h("p", { text: "Asking the gateway what it would do …" }));
    panel.focus();
    try {
        const body = { ...wanted.body, dry_run: true };
        const answer = await change("POST", wanted.path, body, { generation: wanted.generation });
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
    const promote = actionButton("promote");
    mark(promote, "aria-expanded", "false");
    if (held) promote.focus();
}

function stepButtons(...first) {
    return h("div", { class: "actions" }, ...first, button("Not now", closeStep, { class: "quiet" }));
}

function showRefusal(wanted, error) {
    say(byId("step-title"), "The gateway refuses this step");
    const force = error.status === 409 && !wanted.body.force
        ? [button("Look at forcing it …", () => lookAgain(wanted, { force: true }), { class: "danger" })] : [];
    byId("step-body").replaceChildren(
        h("ul", { class: "reasons bad" }, ...explain(error).map((text) => h("li", { text: sentence(text) }))),
        stepButtons(button("Look again", () => lookAgain(wanted)), ...force));
}

/** The same step over what the operator sees now. */
function lookAgain(wanted, body = {}) {
    lookAtStep({ ...wanted, body, generation: view.status.rollout.generation });
}

function moved(before, after) {
    const difference = (after?.percent ?? 0) - (before?.percent ?? 0);
    if (!difference) return "The same users stay where they are.";
    if (difference < 0) return `${percentText(-difference)} of the users go back to legacy.`;
    return `New serves the reads of ${percentText(difference)} more of the users; nobody else is moved.`;
}

function showPreview(wanted, answer) {
    const { before, after } = answer;
    say(byId("step-title"), `Promote to ${stageText(after?.stage, after?.percent)}?`);
    const rows = differences(before, after).map(({ name, before: from, after: to }) => h("tr", {},
        h("th", { scope: "row", text: name }), h("td", { text: from }),
        h("td", { class: "arrow", "aria-hidden": "true", text: "→" }), h("td", { class: "to", text: to })));
    const warnings = (answer.warnings || []).map((text) => (
        h("li", {}, sign("note"), h("span", { text: sentence(text) }))));
    byId("step-body").replaceChildren(
        h("table", { class: "before-after" },
            h("caption", { class: "unseen", text: "before and after" }), h("tbody", {}, ...rows)),
        h("p", { text: moved(before, after) }),
        h("ul", { class: "reasons" }, ...warnings),
        confirmation(wanted, stageText(after?.stage, after?.percent)));
    byId("step-body").querySelector("[data-confirm]").focus();
}

/** The reason, and the button that does it. Forcing needs a reason. */
function confirmation(wanted, goal) {
    const forced = Boolean(wanted.body.force);
    const why = forced ? "Why it is forced (needed)" : "Why (optional; kept with the event)";
    const reason = h("input",
        { id: "step-reason", type: "text", maxlength: "500", autocomplete: "off", required: forced });
    const says = h("p", { class: "says", role: "alert" });
    const confirm = h("button", { type: "submit", class: forced ? "danger" : "solid", "data-confirm": "promote",
        text: `${forced ? "Force" : "Go on to"} ${goal}` });
    const submit = (event) => {
        event.preventDefault();
        takeStep(wanted, reason.value.trim(), confirm, says);
    };
    return h("form", { onsubmit: submit },
        h("label", { for: "step-reason", text: why }), reason, stepButtons(confirm), says);
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
            says.append(button("Look again", () => lookAgain(wanted)));
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
    actionButton("promote").addEventListener("click", () => (step ? closeStep() : openStep()));
    for (const action of ["pause", "resume"]) {
        actionButton(action).addEventListener("click", () => pauseOrResume(action));
    }
    byId("events-export").addEventListener("click", exportEvents);
}
