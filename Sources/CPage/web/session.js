// What this tab remembers: the token (in this tab only) and how the page is to look.

const TOKEN = "cutover-token";

function stored(storage, name) {
    try { return window[storage].getItem(name); } catch { return null; }
}

function store(storage, name, value) {
    try {
        if (value === null) window[storage].removeItem(name);
        else window[storage].setItem(name, value);
    } catch { /* Storage may be switched off: then it is forgotten on reload. */ }
}

const session = {
    token: stored("sessionStorage", TOKEN),
    /** none | checking | operator | viewer | unknown (the gateway could not be asked) */
    role: "none",

    keep(token) {
        this.token = token;
        store("sessionStorage", TOKEN, token);
    },
};

/** By state, a change that would change nothing even if it were no dry run. */
const NO_CHANGE = { paused: "pause", rolled_back: "rollback" };

/** Asks the gateway what a token may do. */
async function learnRole() {
    if (!session.token) return setRole("none");
    if (!view.status) return setRole("unknown");
    setRole("checking");
    try {
        await change("POST", `rollout/${NO_CHANGE[view.status.rollout.state] ?? "resume"}`, { dry_run: true });
        setRole("operator");
    } catch (error) {
        if (error.status === 401 || error.status === 429) dropToken(explain(error).join(" "));
        else if (error.status === 403) setRole("viewer");
        else setRole(error.isSilence || error.status >= 500 ? "unknown" : "operator");
    }
}

/** A token that the gateway does not take. */
function dropToken(why) {
    session.keep(null);
    setRole("none");
    openPanel("token-panel");
    say(byId("token-says"), why);
}

function setRole(role) {
    const before = session.role;
    session.role = role;
    const words = {
        none: "Read only", checking: "Asking …", operator: "Operator", viewer: "Viewer", unknown: "Asking …",
    };
    say(byId("role"), words[role]);
    mark(byId("token-open"), "data-role", role);
    byId("token-forget").hidden = !session.token;
    if (role === "operator" && before !== role) {
        say(byId("token-says"), "");
        closePanel("token-panel");
        announce("Operator's token accepted");
    }
    if (role === "viewer") say(byId("token-says"), "This is a viewer's token: it may only read.");
    renderActions();
}

/** Why this tab may not change anything, or null. */
function changeRefusal() {
    switch (session.role) {
    case "none": return "Changes need the operator's token.";
    case "viewer": return "A viewer's token may only read.";
    default: return null;
    }
}

/** False, with the way to a token shown, when there is none. */
function mayChange(what) {
    if (session.token) return session.role !== "viewer";
    say(byId("token-why"), `${what} needs the operator's token. Nothing was changed.`);
    openPanel("token-panel");
    byId("token").focus();
    return false;
}

// MARK: Panels: beside the page, never over it, so that rollback stays in reach

const panelButtons = { "token-panel": "token-open", "help-panel": "help-open" };

function openPanel(id) {
    byId(id).hidden = false;
    mark(byId(panelButtons[id]), "aria-expanded", "true");
}

function closePanel(id) {
    const held = byId(id).contains(document.activeElement);
    byId(id).hidden = true;
    mark(byId(panelButtons[id]), "aria-expanded", "false");
    if (held) byId(panelButtons[id]).focus();
}

function togglePanel(id) {
    if (!byId(id).hidden) return closePanel(id);
    openPanel(id);
    byId(id).querySelector("input, button")?.focus();
}

// MARK: Looks

const themes = ["auto", "light", "dark"];

function applyTheme(theme) {
    const chosen = themes.includes(theme) ? theme : "auto";
    mark(document.documentElement, "data-theme", chosen);
    say(byId("theme"), `Theme: ${chosen}`);
    store("localStorage", "cutover-theme", chosen);
}

function nextTheme() {
    const now = document.documentElement.dataset.theme;
    applyTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
}

function applyTimes(zone) {
    showsLocalTime = zone === "local";
    const name = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
    say(byId("times"), showsLocalTime ? name : "UTC");
    const other = showsLocalTime ? "UTC" : name;
    mark(byId("times"), "title", `Times in ${showsLocalTime ? name : "UTC"}; press for ${other}`);
    store("localStorage", "cutover-times", zone);
}

function startSession() {
    applyTheme(stored("localStorage", "cutover-theme") || "auto");
    applyTimes(stored("localStorage", "cutover-times") || "utc");
    byId("theme").addEventListener("click", nextTheme);
    byId("times").addEventListener("click", () => {
        applyTimes(showsLocalTime ? "utc" : "local");
        renderEverything();
    });
    for (const [panel, button] of Object.entries(panelButtons)) {
        byId(button).addEventListener("click", () => togglePanel(panel));
    }
    for (const button of document.querySelectorAll("[data-closes]")) {
        button.addEventListener("click", () => closePanel(button.dataset.closes));
    }
    byId("token-form").addEventListener("submit", async (event) => {
        event.preventDefault();
        session.keep(byId("token").value.trim());
        byId("token").value = "";
        await learnRole();
        feed.restart();
    });
    byId("token-forget").addEventListener("click", () => {
        session.keep(null);
        setRole("none");
        say(byId("token-says"), "Forgotten.");
        feed.restart();
    });
}
