// The tools: searchable, and only the first of very many at once.

import { $, el, keyed, mark, rowsOf, say, set, show, sign } from './dom.js';
import { t } from './text.js';
import { stateSign } from './servers.js';

const atOnce = 20;

let whole = false; // all are shown, not only the first

/** Shows the tools that the search leaves. */
export function tools(state) {
  const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  const left = state.tools.filter((tool) => {
    const text = [tool.name, tool.title, tool.server, tool.description].join('\n').toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const many = left.length > atOnce + 5;
  const first = whole || !many ? left : left.slice(0, atOnce);
  say($('tools-found'), state.tools.length ? t('found', left.length, state.tools.length) : '');
  show($('search').parentNode, state.tools.length);
  show($('tool-list'), left.length);
  show($('tools-hint'), !left.length);
  say($('tools-hint'), state.tools.length ? t('toolsNone') : t('toolsEmpty'));
  show($('tools-more'), many);
  say($('tools-more'), whole ? t('fewer') : t('all', left.length));
  keyed($('tool-list'), first, (tool) => tool.name, makeRow);
  // First all are measured and then all are changed: the page is laid out once.
  const shown = rowsOf($('tool-list'));
  const cut = shown.map((row) => row.isCut());
  shown.forEach((row, i) => row.offerMore(cut[i]));
}

/** Makes the search and the button work; render() shows the tools again. */
export function startTools(render) {
  $('search').addEventListener('input', render);
  $('tools-more').addEventListener('click', () => {
    whole = !whole;
    render();
  });
}

function makeRow() {
  const name = el('span', 'name code');
  const title = el('span', 'title');
  const server = el('span', 'server-name code');
  const state = sign();
  const reads = mark();
  const readsWord = el('span');
  const readsTag = el('span', 'tag', reads.node, readsWord);
  const again = mark();
  const againWord = el('span');
  const againTag = el('span', 'tag', again.node, againWord);
  const description = el('p', 'description clamped');
  const more = el('button', 'quiet');
  let open = false;
  reads.use('eye');
  again.use('again');
  more.type = 'button';
  const label = () => {
    say(more, open ? t('less') : t('more'));
    set(more, 'aria-expanded', String(open));
  };
  more.addEventListener('click', () => {
    open = !open;
    description.classList.toggle('clamped', !open);
    label();
  });
  return {
    node: el('li', 'tool',
      el('div', 'line', name, title, readsTag, againTag),
      el('div', 'from', server, state.node),
      el('div', 'about', description, more)),
    update(tool) {
      say(name, tool.name);
      say(title, tool.title);
      show(title, tool.title);
      say(server, tool.server);
      show(state.node, tool.state !== 'ready');
      stateSign(state, tool.state);
      show(readsTag, tool.readOnly);
      say(readsWord, t('readOnlyTool'));
      show(againTag, tool.idempotent && !tool.readOnly);
      say(againWord, t('idempotent'));
      say(description, tool.description);
      show(description, tool.description);
      set(more, 'aria-label', `${open ? t('less') : t('more')}: ${tool.name}`);
      label();
    },
    isCut: () => open || description.scrollHeight > description.clientHeight + 1,
    offerMore: (yes) => show(more, yes),
  };
}
