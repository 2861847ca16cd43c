// All files of this folder share one scope, in the order that CPage.c gives them; this one comes last and starts
// the page. `view` is what the gateway said last; whoever changes it renders.

const view = { status: null, rollout: null, rolloutFor: null, aheadUntil: 0 };

function takeStatus(status) {
    // For a moment after a change its own answer is newer than a status that was on its way.
    if (performance.now() < view.aheadUntil && status.rollout.generation < view.status.rollout.generation) return;
    const isFirst = view.status === null;
    view.status = status;
    renderStatus();
    if (isFirst) {
        loadHistory();
        loadEvents(null);
        loadMismatches(null);
    }
    if (session.role === "unknown") learnRole();
    if (view.rolloutFor !== status.rollout.generation) loadRollout(status.rollout.generation);
}

/** The stages, asked for again with every change: a reload may have brought another plan. */
async function loadRollout(generation) {
    view.rolloutFor = generation;
    try {
        view.rollout = await get("rollout");
        renderLadder();
        renderActions();
    } catch {
        view.rolloutFor = null; // With the next status it is tried again.
    }
}

function renderStatus() {
    renderWhere();
    renderJudgement();
    renderLadder();
    renderFigures();
    renderLegs();
    renderShadow();
    renderActions();
}

function renderEverything() {
    if (!view.status) return;
    byId("events").replaceChildren();
    byId("mismatches").replaceChildren();
    byId("parked").replaceChildren();
    renderStatus();
    renderCharts();
    renderEvents();
    renderMismatches();
    renderParked();
    renderUser();
}

/** Where there is no stream, what it would have brought. */
let polledFor = null;
function whilePolling() {
    const { generation } = view.status.rollout;
    if (polledFor !== null && polledFor !== generation) loadEvents(null);
    polledFor = generation;
}

/** Asks for the status now, beside whatever else is under way. */
async function refresh() {
    try { feed.heard(await getNow("status")); } catch { /* The feed says what is wrong. */ }
}

say(byId("gateway"), location.host);
startSession();
startChanges();
startRollback();
startUsers();
startHistory();
startKeys();
startFeed();
learnRole();
