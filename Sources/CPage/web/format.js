// Numbers, times and words as people read them. No value is ever shown as 0 because it is missing.

const NO_SAMPLES = "no samples";
const GAP = "\u00a0";

/** `1,234` */
function countText(number) {
    return number === null || number === undefined ? "–" : Math.round(number).toLocaleString("en-US");
}

/** `1 read`, `412 reads` */
function many(number, noun) {
    return `${countText(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function trimmed(number, digits) {
    return String(Number(number.toFixed(digits)));
}

/** A share of 1 as percent: `0.31 %`; what is not 0 does not look like 0. */
function ratioText(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return NO_SAMPLES;
    const percent = value * 100;
    if (percent > 0 && percent < 0.005) return `< 0.01${GAP}%`;
    return `${trimmed(percent, percent >= 10 ? 1 : 2)}${GAP}%`;
}

/** A wait: `7.3 ms`, `184 ms`, `1.24 s`. */
function waitText(seconds) {
    if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NO_SAMPLES;
    if (seconds >= 1) return `${trimmed(seconds, 2)}${GAP}s`;
    return `${trimmed(seconds * 1000, seconds < 0.01 ? 1 : 0)}${GAP}ms`;
}

/** A percent of the rollout: `12.5 %`. */
function percentText(percent) {
    return percent === null || percent === undefined ? "–" : `${trimmed(percent, 2)}${GAP}%`;
}

/** How long: `45 s`, `12 min`, `1 h 12 min`, `2 d 3 h`. */
function durationText(seconds) {
    if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
    const total = Math.max(0, Math.round(seconds));
    const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
    const first = units.findIndex(([, size]) => total >= size);
    if (first < 0) return `0${GAP}s`;
    const [unit, size] = units[first];
    const whole = Math.floor(total / size);
    const text = `${whole}${GAP}${unit}`;
    if (first === 3 || (first === 2 && whole >= 10)) return text;
    const [smaller, smallerSize] = units[first + 1];
    const rest = Math.floor((total - whole * size) / smallerSize);
    return rest > 0 ? `${text} ${rest}${GAP}${smaller}` : text;
}

let showsLocalTime = false;

function parts(date) {
    const two = (number) => String(number).padStart(2, "0");
    return showsLocalTime
        ? { day: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
            clock: `${two(date.getHours())}:${two(date.getMinutes())}`, second: two(date.getSeconds()) }
        : { day: date.toISOString().slice(0, 10), clock: date.toISOString().slice(11, 16),
            second: date.toISOString().slice(17, 19) };
}

/** An instant of the API: `02:14` today, `2026-11-29 02:14` on another day. */
function timeText(instant, withSeconds = false) {
    const date = new Date(instant);
    if (instant === null || instant === undefined || Number.isNaN(date.getTime())) return "–";
    const { day, clock, second } = parts(date);
    const time = withSeconds ? `${clock}:${second}` : clock;
    return day === parts(new Date()).day ? time : `${day} ${time}`;
}

/** A `<time>` whose hint is the exact instant. */
function timeNode(instant) {
    return h("time", { datetime: instant, title: instant, text: timeText(instant, true) });
}

const VERDICTS = {
    pass: { sign: "good", tone: "good", words: "pass" },
    fail: { sign: "bad", tone: "bad", words: "fail" },
    insufficient: { sign: "unsure", tone: "unsure", words: "insufficient" },
    warming_up: { sign: "wait", tone: "unsure", words: "warming up" },
};

/** How a verdict looks and reads; one that this page does not know is not a pass. */
function verdictOf(name) {
    return VERDICTS[name] || { sign: "unsure", tone: "unsure", words: name ? String(name) : "no verdict" };
}

/** A sentence of the API with its numbers and units kept together. */
function tight(text) {
    return String(text).replace(/(\d) (?=(?:%|ms|s|min|h|d)(?:\W|$))/g, `$1${GAP}`);
}

/** The first letter in upper case: a sentence of the API at the begin of a line. */
function sentence(text) {
    return text ? tight(text[0].toUpperCase() + text.slice(1)) : "";
}
