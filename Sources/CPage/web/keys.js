// Single keys, for hands that know them. They can be switched off (WCAG 2.1.4), and never act while something is typed.

const keys = {
    r() {
        const button = actionButton("rollback");
        button.focus();
        if (rollback.state !== "armed") button.click();
    },
    p() { actionButton("promote").click(); },
    h() {
        const wanted = view.status?.rollout.state === "paused" ? "resume" : "pause";
        actionButton(wanted).click();
    },
    u() {
        byId("user").focus();
        byId("user").select();
    },
    t() { nextTheme(); },
    "?"() { togglePanel("help-panel"); },
};
Object.keys(RANGES).forEach((range, index) => { keys[String(index + 1)] = () => setRange(range); });

function isTyping(target) {
    return target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select") !== null;
}

function letGo() {
    if (rollback.state === "armed") return setRollback("rest");
    for (const panel of Object.keys(panelButtons)) {
        if (!byId(panel).hidden) return closePanel(panel);
    }
    if (step) closeStep();
}

function startKeys() {
    const box = byId("keys-on");
    box.checked = stored("localStorage", "cutover-keys") !== "off";
    box.addEventListener("change", () => store("localStorage", "cutover-keys", box.checked ? "on" : "off"));
    document.addEventListener("keydown", (event) => {
        if (event.key === "Escape") return letGo();
        if (!box.checked || event.repeat || isTyping(event.target)) return;
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
        if (!act) return;
        event.preventDefault();
        act();
    });
}
