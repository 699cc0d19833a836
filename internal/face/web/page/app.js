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
  now: () => Date.now() + skew,
};

/** What the hub says when it does not do what it is asked. */
class Refusal extends Error {
  constructor(status, problem) {
    super(problem?.detail || problem?.title || `HTTP ${status}`);
    this.status = status;
  }
}

async function get(path) {
  const headers = { Accept: 'application/json', 'Accept-Language': language() };
  if (token) headers.Authorization = 'Bearer ' + token;
  const answer = await fetch(base + path, { headers, cache: 'no-store', redirect: 'error', signal: AbortSignal.timeout(patience) });
  const date = Date.parse(answer.headers.get('Date'));
  // The header has whole seconds: a smaller difference is none.
  if (!Number.isNaN(date)) skew = Math.abs(date - Date.now()) > 2000 ? date - Date.now() : 0;
  if (!answer.ok) throw new Refusal(answer.status, await answer.json().catch(() => null));
  return answer.json();
}

async function round() {
  const [status, serverList, toolList, callList] = await Promise.all([get('/status'), get('/servers'), get('/tools'), get('/calls?limit=50')]);
  if (state.status && state.status.started !== status.started) forgetLogs();
  Object.assign(state, { status, servers: serverList.servers, tools: toolList.tools, calls: callList.calls });
  render();
  await Promise.all(openRows().map(readLog));
}

async function readLog(log) {
  const path = `/servers/${encodeURIComponent(log.key)}/log?after=${log.after()}`;
  try {
    log.add((await get(path)).lines);
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 404)) throw error; // else the server is gone since
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
    await round().then(well, badly);
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
  show($('token-form'), locked);
  show($('away'), away);
  show($('board'), state.status && !locked);
  say($('token-text'), locked && wrong ? t('tokenWrong') : t('tokenNeeded'));
  if (away) {
    say($('away-text'), trouble instanceof Refusal ? t('refused', trouble.message) : t('away', answered ? clock(answered) : ''));
    say($('away-next'), `${asking ? t('trying') : t('next', span(next - Date.now()))} ${trouble instanceof Refusal ? '' : t('startHub')}`);
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
