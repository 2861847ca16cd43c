// Making and changing elements. Whatever came from users gets into the page as text and in no other way: the page's
// policy (require-trusted-types-for) turns anything that would parse it as markup into an error.

const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

/**
 * A text with what nobody sees made visible, as the command line shows it: controls, and format characters such as
 * those that turn the direction of writing. A reason or an id is somebody else's text.
 */
function visible(text) {
    return String(text).replace(/[\p{Cf}\p{Zl}\p{Zp}\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu,
        (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

/** Puts attributes on an element: `text`, functions as listeners (`onclick`), null and false left out. */
function put(node, attributes) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (value === null || value === undefined || value === false) continue;
        if (name === "text") node.textContent = visible(value);
        else if (typeof value === "function") node.addEventListener(name.slice(2), value);
        else node.setAttribute(name, value === true ? "" : value);
    }
    return node;
}

/** An HTML element with its children; strings among them become text. */
function h(tag, attributes, ...children) {
    const node = put(document.createElement(tag), attributes);
    const given = children.filter((child) => child !== null && child !== undefined);
    node.append(...given.map((child) => (typeof child === "string" ? visible(child) : child)));
    return node;
}

/** An element of a drawing. */
function s(tag, attributes, ...children) {
    const node = put(document.createElementNS(SVG, tag), attributes);
    node.append(...children);
    return node;
}

/** A button that is one of several; `more`: further attributes. */
function button(text, onclick, more = {}) {
    return h("button", { type: "button", text, onclick, ...more });
}

/** The head of a table. */
function columns(names) {
    return h("thead", {}, h("tr", {}, ...names.map((text) => h("th", { scope: "col", text }))));
}

/** What may be wider than the page, and is then moved sideways: with the keyboard, too. */
function scroller(label, ...children) {
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...children);
}

/** One of the page's signs; words beside it say the same, so it is hidden from screen readers. */
function sign(name) {
    return s("svg", { class: "sign", "aria-hidden": "true" }, s("use", { href: `#sign-${name}` }));
}

/** Changes a text only where it differs, so that nothing is laid out or read aloud again for nothing. */
function say(node, text) {
    const shown = visible(text);
    if (node.textContent !== shown) node.textContent = shown;
}

/** Changes an attribute only where it differs; null takes it away. */
function mark(node, name, value) {
    if (value === null || value === undefined) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/**
 * Brings the children of `parent` in line with `items`: keeps what has the same key (and with it focus and what is
 * folded open), makes what is new, removes the rest.
 */
function sync(parent, items, keyOf, make, update = () => {}) {
    const kept = new Map([...parent.children].map((node) => [node.dataset.key, node]));
    const done = new Set();
    let place = parent.firstElementChild;
    for (const item of items) {
        const key = String(keyOf(item));
        if (done.has(key)) continue; // Said once is enough.
        done.add(key);
        let node = kept.get(key);
        kept.delete(key);
        if (!node) {
            node = make(item);
            node.dataset.key = key;
        }
        update(node, item);
        if (node === place) place = place.nextElementSibling;
        else parent.insertBefore(node, place);
    }
    for (const node of kept.values()) node.remove();
}

/** Says something once to screen readers. */
function announce(text) {
    say(byId("announcer"), text);
}
