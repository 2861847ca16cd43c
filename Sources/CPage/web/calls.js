// Requests to the gateway. Two reads at a time, so that of the browser's six connections to one host there is always
// one left for a change; and a rollback cuts off whatever else is under way.

const READS_AT_ONCE = 2;
const READ_TIMEOUT = 10_000;
const CHANGE_TIMEOUT = 15_000;

/** A call that did not succeed: the gateway's refusal, or no answer at all (`status` 0). */
class CallError extends Error {
    constructor(status, detail, reasons = []) {
        super(detail);
        this.status = status;
        this.reasons = reasons;
    }

    /** Whether nothing was heard of the gateway, so that it is not known what became of the call. */
    get isSilence() { return this.status === 0; }
}

const underWay = new Set();
const waiting = [];
let reading = 0;

async function turn() {
    if (reading >= READS_AT_ONCE) await new Promise((resolve) => waiting.push(resolve));
    reading += 1;
}

function turnEnds() {
    reading -= 1;
    waiting.shift()?.();
}

function authorization() {
    const token = session.token;
    return token ? { Authorization: `Bearer ${token}` } : {};
}

async function problemOf(response) {
    let document = null;
    try { document = JSON.parse(await response.text()); } catch { /* An intermediary's page; the status has to do. */ }
    const detail = document?.detail || document?.title || `the answer was ${response.status}`;
    return new CallError(response.status, String(detail), (document?.reasons || []).map(String));
}

async function exchange(path, options, timeout, read) {
    const control = new AbortController();
    const clock = setTimeout(() => control.abort(), timeout);
    underWay.add(control);
    try {
        const response = await fetch(`/api/v1/${path}`, {
            ...options, headers: { ...authorization(), ...options.headers }, signal: control.signal,
            cache: "no-store", credentials: "omit", redirect: "error",
        });
        if (!response.ok) throw await problemOf(response);
        return await read(response);
    } catch (error) {
        if (error instanceof CallError) throw error;
        const isLate = control.signal.aborted;
        throw new CallError(0, isLate ? `no answer in ${timeout / 1000} s` : "no answer of the gateway");
    } finally {
        clearTimeout(clock);
        underWay.delete(control);
    }
}

/** GET in its turn: the decoded answer. */
async function get(path, read = (response) => response.json()) {
    await turn();
    try { return await exchange(path, {}, READ_TIMEOUT, read); } finally { turnEnds(); }
}

/** GET at once, past the queue: for the status, which everything else on the page hangs on. */
function getNow(path) {
    return exchange(path, {}, READ_TIMEOUT, (response) => response.json());
}

/**
 * A change: the decoded answer. `generation`: what the operator saw, where the change must not be taken over
 * anything newer. `cutsIn`: drops all that is under way before it goes out.
 */
async function change(method, path, body, { generation = null, cutsIn = false, timeout = CHANGE_TIMEOUT } = {}) {
    if (cutsIn) for (const control of [...underWay]) control.abort();
    const headers = { "Content-Type": "application/json" };
    if (generation !== null) headers["If-Match"] = `"${generation}"`;
    const options = { method, headers, body: JSON.stringify(body || {}), priority: cutsIn ? "high" : "auto" };
    return exchange(path, options, timeout, (response) => response.json());
}

/** What went wrong as a list of sentences for people. */
function explain(error) {
    if (!(error instanceof CallError)) return [String(error)];
    switch (error.status) {
    case 0: return [`${sentence(error.message)}. It is not known whether the change was made.`];
    case 401:
        return ["The gateway does not know this token. It may have been replaced: "
            + "cat DATA/admin.token shows the present one."];
    case 403: return [`The gateway refuses: ${error.message}.`];
    case 412: return ["The rollout has changed since you looked. Nothing was done; look again."];
    case 429: return ["Too many wrong tokens from here. Wait a minute."];
    default: return error.reasons.length ? error.reasons : [error.message];
    }
}
