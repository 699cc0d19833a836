// The servers: one row each, which opens.

import { $, disclosure, el, facts, keyed, rowsOf, say, set, show, sign } from './dom.js';
import { bytes, clock, span, t, took } from './text.js';

const kept = 200; // lines of a log that are shown

const signs = {
  ready: ['full', 'ok'],
  degraded: ['note', 'warn'],
  starting: ['dashed', 'busy'],
  reconnecting: ['dashed', 'warn'],
  crashed: ['alarm', 'bad'],
  failed: ['alarm', 'bad'],
  idle: ['ring', 'calm'],
  disabled: ['bar', 'calm'],
  stopping: ['dashed', 'busy'],
  stopped: ['ring', 'calm'],
};

/** Puts the state of a server into a sign. */
export function stateSign(into, state) {
  const [symbol, kind] = signs[state] ?? ['ring', 'calm'];
  into.put(symbol, kind, t(state) ?? state);
}

/** Shows the servers. opened(key) is called when a row is opened. */
export function servers(state, opened) {
  show($('servers-hint'), state.servers.every((s) => s.kind === 'builtin'));
  show($('server-list'), state.servers.length);
  keyed($('server-list'), state.servers.map((server) => ({ server, state })), (i) => i.server.key, (i) => makeRow(i.server.key, opened));
}

/** The rows that are open: their key, the last line of the log they show, and add(lines). */
export const openRows = () => rowsOf($('server-list')).filter((row) => row.isOpen()).map((row) => row.log);

/** Forgets the logs shown: the hub has started anew, and so do its numbers. */
export function forgetLogs() {
  for (const row of rowsOf($('server-list'))) row.log.clear();
}

/** Opens the row of a server and goes there. */
export function reveal(key) {
  rowsOf($('server-list')).find((row) => row.log.key === key)?.reveal();
}

function makeRow(key, opened) {
  const state = sign('state');
  const name = el('span', 'name');
  const kind = el('span', 'kind');
  const tools = el('span', 'count');
  const since = el('time', 'since');
  const reason = el('p', 'reason');
  const why = el('span');
  const remedy = el('span', 'remedy');
  const retry = el('span', 'muted');
  reason.append(why, remedy, ' ', retry);

  const known = el('dl', 'facts');
  const measured = el('dl', 'facts');
  const measuredTitle = el('h3');
  const toolNames = el('ul', 'names code');
  const noTools = el('p', 'muted');
  const toolsTitle = el('h3');
  const stderr = scrolling('stderr');
  const log = logView(key);
  const panel = el('div', 'details', known, measuredTitle, measured, toolsTitle, toolNames, noTools, stderr.node, log.node);
  const more = disclosure(panel, (open) => open && opened(key), name, kind);

  return {
    node: el('li', 'server', el('div', 'line', more.button, state.node, tools, since), reason, panel),
    isOpen: more.isOpen,
    log,
    reveal() {
      more.open(true);
      more.button.focus();
    },
    update({ server: s, state: all }) {
      stateSign(state, s.state);
      say(name, s.name || s.key);
      say(kind, t(s.kind) ?? s.kind);
      say(tools, s.tools || s.state === 'ready' ? t('toolCount', s.tools) : '');
      set(since, 'datetime', s.since);
      set(since, 'title', clock(s.since));
      say(since, t('since', span(all.now() - Date.parse(s.since))));

      show(reason, s.reason);
      set(reason, 'data-kind', (signs[s.state] ?? [])[1] ?? 'calm');
      say(why, s.reason);
      say(remedy, s.remedy);
      const wait = s.retry ? Date.parse(s.retry) - all.now() : 0;
      say(retry, s.retry ? (wait > 500 ? t('retry', span(wait)) : t('retryNow')) : '');

      if (!more.isOpen()) return;
      facts(known, about(s));
      say(measuredTitle, t('measured'));
      facts(measured, figures(s, all.stats));
      const own = all.tools.filter((tool) => tool.server === s.key);
      say(toolsTitle, t('tools'));
      show(noTools, !own.length);
      say(noTools, t('noTools'));
      keyed(toolNames, own, (tool) => tool.name, makeName);
      stderr.put(t('stderr'), s.stderr);
      log.title();
    },
  };
}

/** The name of a tool among those of its server. */
function makeName() {
  const node = el('li');
  return { node, update: (tool) => say(node, tool.tool) };
}

function about(s) {
  return [
    [t('key'), s.key === s.name ? '' : s.key, 'code'],
    [t('info'), s.info],
    [t('command'), s.command && [s.command, ...(s.args ?? [])].join(' '), 'code wide'],
    [t('cwd'), s.cwd, 'code wide'],
    [t('url'), s.url, 'code wide'],
    [t('env'), s.env?.join(', '), 'code'],
    [t('headers'), s.headers?.join(', '), 'code'],
    [t('pid'), s.pid],
    [t('protocol'), s.protocol],
    [t('timeout'), s.timeout],
    [t('priority'), s.priority],
    [t('autoStart'), s.autoStart || s.preload || !s.enabled ? '' : t('onDemand')],
    [t('hiddenTools'), s.hidden],
    [t('resources'), s.resources || ''],
    [t('templates'), s.templates || ''],
    [t('prompts'), s.prompts || ''],
    [t('connection'), s.connection && s.connection !== 'auto' ? t(s.connection) : ''],
    [t('junk'), s.junkLines],
  ];
}

/** What was measured of a server: its calls since the hub started, and what its processes take. */
function figures(s, stats) {
  const good = stats.operations[`tools/call ${s.key}`];
  const failed = stats.operations[`tools/call ${s.key}.error`]?.total ?? 0;
  const tree = stats.processes.find((one) => one.server === s.key);
  return [
    [t('calls'), t('callCount', (good?.total ?? 0) + failed, failed)],
    [t('average'), good && took(good.avg)],
    [t('median'), good && took(good.p50)],
    [t('slowest'), good && took(good.p95)],
    [t('rarest'), good && took(good.p99)],
    [t('extremes'), good && `${took(good.min)} – ${took(good.max)}`],
    [t('underway'), s.calls || ''],
    [t('instances'), s.instances],
    [t('ownConnections'), s.callers],
    [t('subscriptions'), s.subscriptions],
    [t('processes'), tree?.processes],
    [t('memory'), tree && bytes(tree.memory_bytes)],
    [t('cpu'), tree && took(1000 * tree.cpu_seconds)],
  ];
}

/** A text of many lines, at whose end the interesting part is. */
function scrolling(name) {
  const title = el('h3');
  const box = el('pre', 'output ' + name);
  box.tabIndex = 0; // so that the keyboard can scroll it
  box.setAttribute('role', 'region');
  return {
    node: el('div', '', title, box),
    box,
    put(label, value) {
      show(title.parentNode, value);
      say(title, label);
      set(box, 'aria-label', label);
      keepEnd(box, () => say(box, value));
    },
  };
}

/** Changes a box and stays at its end if it was there. */
function keepEnd(box, change) {
  const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
  change();
  if (atEnd) box.scrollTop = box.scrollHeight;
}

/** The log of one server, which grows. */
function logView(key) {
  const view = scrolling('log');
  const empty = el('p', 'muted');
  let last = 0;
  view.node.append(empty);
  return {
    key,
    node: view.node,
    after: () => last,
    title() {
      say(view.node.firstChild, t('log'));
      set(view.box, 'aria-label', t('log'));
      say(empty, t('logEmpty'));
      show(empty, last === 0);
      show(view.box, last > 0);
    },
    add(lines) {
      const fresh = lines.filter((line) => line.seq > last);
      if (!fresh.length) return;
      last = fresh[fresh.length - 1].seq;
      this.title();
      keepEnd(view.box, () => {
        for (const line of fresh) {
          view.box.append(el('span', 'entry',
            el('time', '', clock(line.time)), el('span', 'source', line.source), el('span', 'text', line.text)));
        }
        while (view.box.childElementCount > kept) view.box.firstChild.remove();
      });
    },
    clear() {
      last = 0;
      view.box.replaceChildren();
    },
  };
}
