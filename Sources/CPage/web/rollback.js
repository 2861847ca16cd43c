// One motion back: press, and press again on the same spot (or Enter). Nothing to type, nothing to wait for: what
// hangs is cut off, and while no answer comes it is sent again; a second rollback does what the first one did.

const ARMED_FOR = 8_000;
const ROLLBACK_TIMEOUT = 5_000;
const ROLLBACK_TRIES = 6;

/** rest | armed | going | done | failed */
const rollback = { state: "rest", clock: null, words: "" };

/**
 * Where a rollback goes: the first stage of percent 0 that still dual-writes (the gateway decides it in the same
 * way).
 */
function rollbackGoal() {
    const stage = (view.rollout?.stages || []).find((one) => one.percent === 0 && one.dual_write !== false);
    return stage ? stageText(stage.name, 0) : percentText(0);
}

function setRollback(state, words = "") {
    clearTimeout(rollback.clock);
    Object.assign(rollback, { state, words });
    if (state === "armed") rollback.clock = setTimeout(() => setRollback("rest"), ARMED_FOR);
    if (state === "done") rollback.clock = setTimeout(() => setRollback("rest"), 6_000);
    say(byId("rollback-says"), words);
    renderRollbackButton();
}

function renderRollbackButton() {
    const button = actionButton("rollback");
    const goal = rollbackGoal();
    const words = {
        rest: ["Roll back", `to ${goal}`], failed: ["Roll back", "try again"],
        armed: ["Press again", `to roll back to ${goal}`],
        going: ["Rolling back …", `to ${goal}`], done: ["Rolled back", goal],
    }[rollback.state];
    mark(button, "data-state", rollback.state);
    say(byId("rollback-act"), words[0]);
    say(byId("rollback-detail"), session.role === "viewer" ? "needs the operator's token" : words[1]);
}

function pressRollback() {
    if (rollback.state === "going") return;
    if (rollback.state === "armed") { roll(); return; }
    if (!mayChange("Rolling back")) return;
    setRollback("armed", `Press again, or Enter, to roll back to ${rollbackGoal()}. Esc lets go.`);
}

async function roll() {
    setRollback("going", "Rolling back …");
    for (let attempt = 1; ; attempt += 1) {
        try {
            const answer = await change("POST", "rollout/rollback", { reason: PAGE_REASON },
                { cutsIn: true, timeout: ROLLBACK_TIMEOUT });
            closeStep();
            setRollback("done", `Rolled back to ${stageText(answer.after?.stage, answer.after?.percent)}.`);
            takeAfter(answer);
            return;
        } catch (error) {
            if (!error.isSilence || attempt === ROLLBACK_TRIES) {
                const reasons = explain(error).map(sentence).join(" ");
                setRollback("failed", `Not confirmed: ${reasons} On the gateway's machine: cutover rollback`);
                if (error.status === 401) openPanel("token-panel");
                return;
            }
            say(byId("rollback-says"), `No answer yet; sent again (${attempt + 1} of ${ROLLBACK_TRIES}).`);
            await new Promise((resolve) => setTimeout(resolve, 500));
        }
    }
}

function startRollback() {
    const button = actionButton("rollback");
    button.addEventListener("click", pressRollback);
    // A key held down is one press, not two.
    button.addEventListener("keydown", (event) => {
        if (event.repeat && (event.key === "Enter" || event.key === " ")) event.preventDefault();
    });
    button.addEventListener("blur", () => { if (rollback.state === "armed") setRollback("rest"); });
}
