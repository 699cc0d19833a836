// The last calls, newest first. How long each took is drawn on one
// scale, so that two bars can be compared at a glance.

import { $, el, keyed, say, set, show, sign } from './dom.js';
import { clock, t, took } from './text.js';

const atOnce = 12;
const longest = 2000; // milliseconds at which a bar is full

const signs = {
  ok: ['done', 'ok'],
  tool_error: ['note', 'warn'],
  failed: ['cross', 'bad'],
  unknown: ['note', 'bad'],
  cancelled: ['bar', 'calm'],
};

const doors = { mcp: 'viaMcp', sse: 'viaSse', ws: 'viaWs', stdio: 'viaStdio', rest: 'viaRest' };

let whole = false; // all are shown, not only the last

/** Shows the calls. */
export function calls(state) {
  const list = whole ? state.calls : state.calls.slice(0, atOnce);
  show($('calls-hint'), !state.calls.length);
  show($('call-list'), state.calls.length);
  show($('calls-more'), state.calls.length > atOnce);
  say($('calls-more'), whole ? t('fewer') : t('all', state.calls.length));
  keyed($('call-list'), list, (c) => c.id, makeRow);
}

/** Makes the button work; render() shows the calls again. */
export function startCalls(render) {
  $('calls-more').addEventListener('click', () => {
    whole = !whole;
    render();
  });
}

function makeRow() {
  const time = el('time', 'time');
  const name = el('span', 'name code');
  const outcome = sign('outcome');
  const from = el('span', 'muted');
  const bar = el('span', 'bar');
  const fill = el('span');
  const duration = el('span', 'took');
  const reason = el('p', 'reason');
  bar.append(fill);
  bar.setAttribute('aria-hidden', 'true');
  return {
    node: el('li', 'call',
      el('div', 'line', time, name, bar, duration),
      el('div', 'line', outcome.node, from),
      reason),
    update(c) {
      const [symbol, kind] = signs[c.outcome] ?? ['bar', 'calm'];
      set(time, 'datetime', c.time);
      say(time, clock(c.time));
      say(name, c.name);
      outcome.put(symbol, kind, t(c.outcome || 'underWay') ?? c.outcome);
      const door = t(doors[c.door]) ?? c.door;
      say(from, [c.subject === 'local' ? '' : c.subject, door].filter(Boolean).join(' · ') + (c.server ? ' → ' + c.server : ''));
      say(duration, c.outcome ? took(c.durationMs) : '');
      set(bar, 'data-kind', kind);
      fill.style.width = Math.max(3, 100 * Math.min(1, Math.log10(1 + c.durationMs) / Math.log10(1 + longest))) + '%';
      const why = c.reason || (c.outcome === 'tool_error' ? t('toolSaysFailed') : '');
      set(reason, 'lang', c.reason ? 'en' : document.documentElement.lang);
      set(reason, 'data-kind', kind);
      say(reason, why);
      show(reason, why && (c.outcome === 'failed' || c.outcome === 'unknown'));
    },
  };
}
