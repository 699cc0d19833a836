// What needs a person first, and the hub itself.

import { $, el, facts, keyed, say, set, show, sign } from './dom.js';
import { bytes, clock, span, t, took } from './text.js';
import { stateSign } from './servers.js';

const recent = 15 * 60 * 1000; // for how long a call that failed is shown on top
const most = 3; // of them

/** Shows what needs a person. reveal(key) opens the row of a server. */
export function attention(state, reveal) {
  const items = [];
  const { path, problems } = state.status.config;
  if (problems?.length) items.push({ kind: 'config', key: 'config', path, problems });
  for (const s of state.servers) {
    if (needsHelp(s)) items.push({ kind: 'server', key: 'server ' + s.key, server: s });
  }
  const faults = items.length;
  const seen = new Set();
  for (const c of state.calls) {
    const what = `${c.name} ${c.code}`;
    if ((c.outcome !== 'failed' && c.outcome !== 'unknown') || seen.has(what) || seen.size === most || state.now() - Date.parse(c.time) > recent) continue;
    seen.add(what);
    items.push({ kind: 'call', key: 'call ' + what, call: c });
  }
  show($('attention'), items.length);
  keyed($('attention-list'), items, (i) => i.key, (first) => makers[first.kind](reveal));
  return faults;
}

/** Reports whether a server does not work and somebody could mend that. */
const needsHelp = (s) => ['failed', 'crashed', 'reconnecting', 'degraded'].includes(s.state) || (s.state === 'starting' && Boolean(s.reason));

const makers = {
  config() {
    const state = sign();
    const path = el('span', 'code');
    const list = el('ul', 'places');
    return {
      node: el('li', 'fault', state.node, path, list),
      update({ path: file, problems }) {
        state.put('alarm', 'bad', t('configBroken'));
        say(path, file);
        places(list, problems);
      },
    };
  },

  server(reveal) {
    const state = sign();
    const name = el('a', 'code');
    const why = el('span', 'why');
    let key = '';
    name.href = '#servers';
    name.addEventListener('click', (event) => {
      event.preventDefault();
      reveal(key);
    });
    return {
      node: el('li', 'fault', state.node, name, why),
      update({ server: s }) {
        key = s.key;
        stateSign(state, s.state);
        say(name, s.key);
        say(why, s.reason ?? '');
      },
    };
  },

  call() {
    const state = sign();
    const name = el('span', 'code');
    const why = el('span', 'why');
    const time = el('time', 'muted');
    set(why, 'lang', 'en');
    return {
      node: el('li', 'fault', state.node, name, el('p', '', why, ' ', time)),
      update({ call: c }) {
        state.put('cross', 'bad', t('failed'));
        say(name, c.name);
        say(why, c.reason || c.code);
        set(time, 'datetime', c.time);
        say(time, clock(c.time));
      },
    };
  },
};

/** Shows the hub itself. */
export function hub(state) {
  const s = state.status;
  say($('version'), s.version);
  say($('figure-servers'), t('ofAll', s.ready, s.servers));
  say($('figure-tools'), s.tools);
  const config = s.config.path ? (s.config.exists ? s.config.path : t('configMissing', s.config.path)) : t('configNone');
  const { resources: used, processes } = state.stats;
  const servers = processes.reduce((sum, tree) => sum + tree.memory_bytes, 0);
  const spent = processes.reduce((sum, tree) => sum + tree.cpu_seconds, 0);
  facts($('hub-facts'), [
    [t('uptime'), span(state.now() - Date.parse(s.started))],
    [t('sessions'), s.sessions],
    [t('resources'), s.resources || ''],
    [t('prompts'), s.prompts || ''],
    [t('listen'), s.listen || t('socketOnly'), 'code'],
    [t('config'), config, 'code'],
    [t('dataDir'), s.dataDir, 'code'],
    [t('pid'), s.pid],
    [t('memory'), t('ownAndServers', bytes(used.memory_bytes), bytes(servers))],
    [t('cpu'), t('ownAndServers', took(1000 * used.cpu_seconds), took(1000 * spent))],
    [t('processes'), used.active_processes],
    [t('indexed'), t('indexedWith', used.cache_size, used.embedded_tools)],
  ]);
  const warnings = s.config.warnings ?? [];
  show($('warnings'), warnings.length);
  say($('warnings-title'), t('warnings', warnings.length));
  places($('warnings-list'), warnings);
}

/** Lists what was found in the configuration, with line and column. */
function places(list, found) {
  keyed(list, found, (f) => `${f.line}:${f.column}`, () => {
    const at = el('span', 'code muted');
    const text = el('span');
    return {
      node: el('li', '', at, ' ', text),
      update(f) {
        say(at, f.line ? `${f.line}:${f.column}` : '');
        say(text, f.detail);
      },
    };
  });
}
