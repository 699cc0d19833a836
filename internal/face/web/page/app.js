// The page asks its hub every three seconds while somebody looks at it, and
// less often while the hub does not answer.

import { $, say, show } from './dom.js';
import { calls, startCalls } from './calls.js';
import { connect, relabel, startConnect } from './connect.js';
import { attention, hub } from './hub.js';
import { forgetLogs, openRows, reveal, servers } from './servers.js';
import { clock, detect, language, other, span, t } from './text.js';
import { startTools, tools } from './tools.js';

const base = '/api/v1';
const every = 3000; // milliseconds
const slowest = 30000;
const patience = 10000;

let token = ''; // in memory only, on purpose
let wrong = false; // a token was tried, in vain
let secured = false; // the hub has asked for a token
let timer = 0;
let asking = false; // a round is under way
let again = false; // another one is wanted right after it
let wait = every;
let next = 0; // when the next round is due, while the hub is away
let trouble = null; // why the last round failed
let answered = 0; // when the last round went well
let faults = 0; // what needs a person
let skew = 0; // how far the hub's clock is ahead of ours

const state = {
  status: null,
  servers: [],
  tools: [],
  calls: [],
  stats: null,
  now: () => Date.now() + skew,
};

/** Why there is no answer: what the hub says, or with status 0 that it is silent. */
class Trouble extends Error {
  constructor(status, problem) {
    super(problem?.detail || problem?.title || `HTTP ${status}`);
    this.status = status;
  }
}

async function get(path) {
  const headers = { Accept: 'application/json', 'Accept-Language': language() };
  if (token) headers.Authorization = 'Bearer ' + token;
  let answer;
  try {
    answer = await fetch(base + path, { headers, cache: 'no-store', redirect: 'error', signal: AbortSignal.timeout(patience) });
  } catch {
    throw new Trouble(0);
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok || !body) throw new Trouble(answer.ok ? 0 : answer.status, body);
  // The header has whole seconds: a smaller difference is none.
  const ahead = Date.parse(answer.headers.get('Date')) - Date.now();
  skew = Math.abs(ahead) > 2000 ? ahead : 0;
  return body;
}

async function round() {
  const status = await get('/status'); // alone, so that a wrong token is shown only once
  const [serverList, toolList, callList, stats] = await Promise.all([get('/servers'), get('/tools'), get('/calls?limit=50'), get('/stats')]);
  if (state.status && state.status.started !== status.started) forgetLogs();
  Object.assign(state, { status, servers: serverList.servers, tools: toolList.tools, calls: callList.calls, stats });
  well();
  render();
  await Promise.all(openRows().map(readLog));
}

async function readLog(log) {
  const path = `/servers/${encodeURIComponent(log.key)}/log?after=${log.after()}`;
  try {
    log.add((await get(path)).lines);
  } catch (error) {
    if (error.status !== 404) throw error; // else the server is gone since
  }
}

/** Asks the hub, now, and then again and again while the page is seen. */
async function ask() {
  clearTimeout(timer);
  if (asking) {
    again = true;
    return;
  }
  do {
    again = false;
    asking = true;
    await round().catch((error) => (error instanceof Trouble ? badly(error) : reportError(error)));
    asking = false;
  } while (again);
  tell();
  if (!document.hidden && trouble?.status !== 401) timer = setTimeout(ask, wait);
}

function well() {
  if (trouble) say($('pulse'), t('back'));
  trouble = null;
  answered = Date.now();
  wait = every;
  tell(); // what is hidden cannot be measured
}

function badly(error) {
  trouble = error;
  wait = error.status === 401 ? every : Math.min(2 * wait, slowest);
  next = Date.now() + wait;
  say($('pulse'), ''); // what is wrong is told below
  if (error.status !== 401) return;
  token = '';
  secured = true;
  connect(secured);
}

/** Tells how the page gets on with the hub. */
function tell() {
  const locked = trouble?.status === 401;
  const away = trouble && !locked;
  $('pulse').classList.toggle('unseen', Boolean(state.status || trouble));
  const asked = locked && $('token-form').hidden;
  show($('token-form'), locked);
  if (asked) $('token').focus();
  show($('away'), away);
  show($('board'), state.status && !locked);
  show($('nav'), state.status && !locked); // its links lead there
  say($('token-text'), locked && wrong ? t('tokenWrong') : t('tokenNeeded'));
  if (away) {
    say($('away-text'), trouble.status ? t('refused', trouble.message) : t('away', answered ? clock(answered) : ''));
    say($('away-next'), `${asking ? t('trying') : t('next', span(next - Date.now()))} ${trouble.status ? '' : t('startHub')}`);
  } else if (!state.status && !locked) {
    say($('pulse'), t('loading'));
  }
  if (!trouble && state.status) document.title = (faults ? `(${faults}) ` : '') + 'Toolcrib';
}

function render() {
  if (!state.status) return;
  faults = attention(state, reveal);
  hub(state);
  servers(state, opened);
  calls(state);
  tools(state);
}

/** A row was opened: what it shows is filled in at once. */
function opened() {
  servers(state, opened);
  ask();
}

/** What goes on between two rounds: spans of time. */
function tick() {
  if (document.hidden) return;
  if (trouble) tell();
  else if (state.status) {
    hub(state);
    servers(state, opened);
  }
}

function words() {
  say($('language'), t('language'));
  $('language').lang = language() === 'en' ? 'zh-CN' : 'en';
  relabel();
  connect(secured);
  render();
  tell();
}

detect();
startTools(() => tools(state));
startCalls(() => calls(state));
startConnect();
words();

$('language').addEventListener('click', () => {
  other();
  words();
  ask();
});
$('retry').addEventListener('click', ask);
$('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  token = $('token').value.trim();
  $('token').value = '';
  wrong = true;
  ask();
});
document.addEventListener('visibilitychange', () => {
  clearTimeout(timer);
  if (!document.hidden) ask();
});
setInterval(tick, 1000);
ask();
