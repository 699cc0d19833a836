// How a client is connected to this hub.

import { $, copy, el, say, set, show } from './dom.js';
import { t } from './text.js';

const json = (value) => JSON.stringify(value, null, 2).replace(/\[\s+("[^"]*")\s+\]/g, '[$1]');
const program = { command: 'toolcrib', args: ['stdio'] };

const clients = [
  {
    name: 'claude',
    title: 'Claude Desktop',
    file: 'claude_desktop_config.json',
    program: () => json({ mcpServers: { toolcrib: program } }),
  },
  {
    name: 'claude-code',
    title: 'Claude Code',
    program: () => 'claude mcp add --scope user toolcrib -- toolcrib stdio',
    url: (url) => `claude mcp add --scope user --transport http toolcrib ${url}`,
  },
  {
    name: 'cursor',
    title: 'Cursor',
    file: '~/.cursor/mcp.json',
    program: () => json({ mcpServers: { toolcrib: program } }),
    url: (url) => json({ mcpServers: { toolcrib: { url } } }),
  },
  {
    name: 'vscode',
    title: 'VS Code',
    file: 'mcp.json',
    program: () => json({ servers: { toolcrib: { type: 'stdio', ...program } } }),
    url: (url) => json({ servers: { toolcrib: { type: 'http', url } } }),
  },
];

let chosen = clients[0];
let secured = false;
const views = {};

/** Builds the section. */
export function startConnect() {
  for (const node of document.querySelectorAll('[data-copy]')) fill(node).put(node.dataset.copy);
  views.address = fill($('address'));
  for (const client of clients) {
    const radio = el('input');
    radio.type = 'radio';
    radio.name = 'client';
    radio.checked = client === chosen;
    radio.addEventListener('change', () => {
      chosen = client;
      connect(secured);
    });
    $('clients').append(el('label', '', radio, el('span', '', client.title)));
  }
  for (const part of ['command', 'program', 'url']) {
    const title = el('p');
    const view = fill(el('div', 'snippet'));
    views[part] = { node: el('div', 'way', title, view.node), title, view };
  }
  views.hint = el('p', 'muted');
  views.command.node.classList.add('wide');
  $('client').append(views.command.node, views.program.node, views.url.node, views.hint);
}

/** Shows how the chosen client is connected; secured says that a token is needed. */
export function connect(needsToken) {
  secured = needsToken;
  const url = location.origin + '/mcp';
  const file = chosen.file ? ` (${t('inFile', chosen.file)})` : '';
  views.address.put(url);
  put(views.command, t('byCommand'), 'toolcrib connect ' + chosen.name);
  put(views.program, withFile(t('byProgram'), file), chosen.program());
  put(views.url, chosen.url ? withFile(t('byUrl'), file) : t('noUrl'), chosen.url?.(url));
  say(views.hint, secured ? `${t('pathHint')} ${t('tokenHint')}` : t('pathHint'));
}

const withFile = (text, file) => text.replace(/[:：]$/, (end) => file + end);

function put(part, title, text) {
  say(part.title, title);
  show(part.view.node, text);
  if (text) part.view.put(text);
  else part.view.words();
}

const all = [];

/** Makes an element hold a text with a button that copies it. */
function fill(node) {
  const code = el('code');
  const button = el('button', 'quiet');
  let text = '';
  let timer = 0;
  button.type = 'button';
  const words = () => {
    say(button, t('copy'));
    set(button, 'aria-label', t('copyOf', text));
  };
  button.addEventListener('click', async () => {
    const answer = t((await copy(text)) ? 'copied' : 'copyFailed');
    say(button, answer);
    set(button, 'aria-label', answer);
    say($('pulse'), answer);
    clearTimeout(timer);
    timer = setTimeout(words, 2000);
  });
  node.append(el('pre', '', code), button);
  const view = {
    node,
    words,
    put(value) {
      text = value;
      say(code, text);
      words();
    },
  };
  all.push(view);
  return view;
}

/** Puts the buttons into the language of the page. */
export function relabel() {
  for (const view of all) view.words();
}
