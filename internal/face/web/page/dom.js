// How the page is changed. Whatever a server says of itself gets in as text
// only; and what has not changed is not touched, so that the focus, a selection
// and all that is open stay as they are.

const svg = 'http://www.w3.org/2000/svg';
const shown = new WeakMap(); // node -> the text last put into it

export const $ = (id) => document.getElementById(id);

/** Makes an element with a class and children, which are nodes or texts. */
export function el(tag, name, ...children) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  node.append(...children);
  return node;
}

/** Makes the text of a node this one. */
export function say(node, text) {
  const value = String(text ?? '');
  if (shown.get(node) === value) return;
  shown.set(node, value);
  node.textContent = value;
}

/** Shows or hides a node. */
export function show(node, yes) {
  if (node.hidden === Boolean(yes)) node.hidden = !yes;
}

/** Sets an attribute if it is another one. */
export function set(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** Makes a mark: one of the symbols of the page. use(name) makes it another. */
export function mark() {
  const node = document.createElementNS(svg, 'svg');
  const use = document.createElementNS(svg, 'use');
  node.setAttribute('class', 'mark');
  node.setAttribute('aria-hidden', 'true');
  node.setAttribute('focusable', 'false');
  node.append(use);
  return { node, use: (name) => set(use, 'href', '#mark-' + name) };
}

/** Makes a mark with a word: a state. put(name, kind, word) sets it. */
export function sign(name) {
  const m = mark();
  const word = el('span');
  const node = el('span', 'sign ' + (name ?? ''), m.node, word);
  return {
    node,
    put(symbol, kind, text) {
      m.use(symbol);
      set(node, 'data-kind', kind);
      say(word, text);
    },
  };
}

const rows = new WeakMap(); // list -> its rows by key

/**
 * Makes a list show the items: those with a known key are updated in place,
 * others are made by make(item), which returns {node, update(item)}. Rows are
 * moved only if their order is another, since moving takes the focus away.
 */
export function keyed(list, items, keyOf, make) {
  const before = rows.get(list) ?? new Map();
  const now = new Map();
  for (const item of items) {
    let key = keyOf(item);
    while (now.has(key)) key += "'"; // twins
    const row = before.get(key) ?? make(item);
    row.update(item);
    now.set(key, row);
  }
  for (const [key, row] of before) if (!now.has(key)) row.node.remove();
  let at = list.firstChild;
  for (const { node } of now.values()) {
    if (node === at) at = at.nextSibling;
    else list.insertBefore(node, at);
  }
  rows.set(list, now);
}

/** The rows that keyed has made for a list. */
export const rowsOf = (list) => [...(rows.get(list)?.values() ?? [])];

/** Fills a list of facts with [name, value] pairs; those without a value are left out. */
export function facts(list, pairs) {
  keyed(list, pairs.filter(([, value]) => value !== '' && value != null), ([name]) => name, () => {
    const name = el('dt');
    const value = el('dd');
    const node = el('div', '', name, value);
    return {
      node,
      update([n, v, kind]) {
        say(name, n);
        say(value, v);
        set(node, 'class', kind ?? '');
      },
    };
  });
}

let ids = 0;

/** Makes a button that opens and closes a panel. onChange(open) is told. */
export function disclosure(panel, onChange, ...label) {
  const arrow = mark();
  arrow.use('open');
  const button = el('button', 'disclosure', arrow.node, ...label);
  button.type = 'button';
  panel.id = 'panel-' + ++ids;
  panel.hidden = true;
  button.setAttribute('aria-controls', panel.id);
  const open = (yes) => {
    panel.hidden = !yes;
    button.setAttribute('aria-expanded', String(yes));
    onChange(yes);
  };
  button.setAttribute('aria-expanded', 'false');
  button.addEventListener('click', () => open(panel.hidden));
  return { button, open, isOpen: () => !panel.hidden };
}

/** Puts a text on the clipboard; whether that worked is returned. */
export async function copy(text) {
  // Without TLS browsers have a clipboard for pages of this machine only.
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // refused: the old way may still be allowed
    }
  }
  const area = el('textarea', 'unseen');
  const focus = document.activeElement;
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  focus?.focus();
  return done;
}
