// Looks at the status page in Chromium: node page.mjs SPEC. It prints a line of
// JSON for whatever is wrong ("fail"), for each part that is done ("did"), and
// for what the other side has to do ("do"), which answers with a line.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(new URL('../npm/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const spec = JSON.parse(process.argv[2]);
const print = value => process.stdout.write(JSON.stringify(value) + '\n');
const fail = text => print({ fail: text });
const check = (ok, text) => ok || fail(text);

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const doIt = async what => {
  print({ do: what });
  await answers.next();
};

const browser = await chromium.launch({
  executablePath: spec.chromium, // with a fresh profile
  headless: true,
  timeout: 30000,
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
  ],
});

const bodies = []; // of all answers of the API
let excused = () => false; // console errors that the part under way brings about

/** Opens a tab that reports whatever no page may do. */
async function open(locale, url) {
  const context = await browser.newContext({ locale, reducedMotion: 'reduce', viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(15000);
  context.on('request', request => check(new URL(request.url()).origin === url, `asks another host: ${request.url()}`));
  context.on('weberror', error => fail(`throws: ${error.error().stack}`));
  context.on('console', message => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    check(excused(message.text()), `writes to the console: ${message.text()}`);
  });
  await context.addInitScript(() => {
    window.violations = [];
    addEventListener('securitypolicyviolation', event => window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  const page = await context.newPage();
  page.on('response', async response => {
    if (response.url().includes('/api/')) bodies.push(await response.text().catch(() => ''));
  });
  await page.goto(url + '/');
  return page;
}

/** Waits until what the page shows is from after now. */
async function refreshed(page) {
  // Who looks at a page again has it ask at once; and when it asks for the
  // second time, it shows the answers to the first.
  for (let i = 0; i < 2; i++) {
    const asked = page.waitForRequest(request => request.url().endsWith('/api/v1/status'));
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await asked;
  }
}

const row = (page, name) => page.locator('.server', { has: page.locator('.disclosure .name', { hasText: new RegExp(`^${name}$`) }) });
const shows = async (locator, text) => {
  const shown = await locator.innerText();
  check(shown.includes(text), `shows ${JSON.stringify(shown)}, want ${JSON.stringify(text)} in it`);
};

async function violations(page) {
  for (const one of await page.evaluate(() => window.violations)) fail(`violates the policy: ${one}`);
  check(await page.evaluate(() => window.pwned === undefined), 'runs the script of a server');
}

async function accessible(page, what) {
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }));
  check(result.passes.length > 10, `${what}: axe looked at nothing`);
  for (const { id, help, nodes } of result.violations) {
    fail(`${what}: ${id}: ${help}: ${nodes.slice(0, 3).map(node => node.html + ' ' + node.failureSummary).join('\n')}`);
  }
}

async function fits(page, what) {
  const [width, wide] = await page.evaluate(() => {
    const all = [...document.querySelectorAll('body *')].filter(node => node.getClientRects().length && node.getBoundingClientRect().right > innerWidth + 1);
    return [document.documentElement.scrollWidth, all.slice(0, 3).map(node => node.outerHTML.slice(0, 200))];
  });
  const limit = page.viewportSize().width;
  check(width <= limit && !wide.length, `${what}: is ${width} px wide: ${wide.join('\n')}`);
}

let shots = 0;
async function shot(page, name) {
  if (spec.screenshots) await page.screenshot({ path: `${spec.screenshots}/${++shots}-${name}.png`, fullPage: true });
}

const parts = {
  async 'what there is'(page) {
    await page.waitForSelector('.server');
    check(await page.title() === '(3) Toolcrib', `the title is ${await page.title()}`);
    for (const [name, ...texts] of [
      ['calculator', 'Ready', 'built-in', '1 tool'],
      ['everything', 'Ready', 'program'],
      ['remote', 'Ready', 'HTTP'],
      ['missing', 'Failed', 'no-such-program', 'Install it'],
      ['The dying one', 'cannot find the database'],
      ['noisy', 'The process ended'],
      ['off', 'Disabled'],
    ]) {
      for (const text of texts) await shows(row(page, name), text);
    }
    const attention = page.locator('#attention');
    for (const text of ['missing', 'no-such-program', 'dying', 'noisy', 'no_such_tool']) await shows(attention, text);
    const calls = page.locator('#call-list');
    for (const text of ['OK', 'Tool error', 'Failed', 'no_such_tool', 'There is no tool named', 'everything__get-sum', 'API → everything']) await shows(calls, text);
    await shows(page.locator('#hub'), spec.url);
    check(/Memory\s+\d+ MiB, servers \d+ MiB/.test(await page.locator('#hub').innerText()), 'does not say how much memory is used');
    await shows(page.locator('#connect'), spec.url + '/mcp');
    await shows(page.locator('#tools'), 'calculator__calculator');
  },

  async 'hostile text is text'(page) {
    const echo = page.locator('.tool', { has: page.locator('.name', { hasText: /^everything__echo$/ }) });
    await page.locator('#tools-more', { hasText: 'Show all' }).click();
    await shows(echo, spec.hostile);
    await row(page, 'noisy').locator('.disclosure').click();
    await row(page, 'noisy').locator('.log .entry').first().waitFor();
    await shows(row(page, 'noisy').locator('.log'), '<i>markup</i>');
    check(await page.locator('main img, main script, main i, main b, .description *').count() === 0, 'makes markup of a text');
    await violations(page);
  },

  async 'a refresh disturbs nobody'(page) {
    const server = row(page, 'everything');
    await server.locator('.disclosure').focus();
    await page.keyboard.press('Enter');
    await server.locator('.log .entry').first().waitFor();
    await shows(server.locator('.names'), 'get-sum');
    for (const text of ['Half of them took at most', '95% took at most', '99% took at most', 'Fastest and slowest', 'Instances', 'MiB', 'Processor time']) await shows(server.locator('.details'), text);
    const before = await page.evaluateHandle(() => [...document.querySelectorAll('.server, .tool, .call')]);
    await page.locator('#search').fill('everything__echo');
    check(await page.locator('.tool').count() === 1, 'the search does not find the one tool');
    await page.locator('#search').fill('no tool has this');
    check(await page.locator('#tools-hint').isVisible(), 'a search without a find says nothing');
    await page.locator('#search').fill('');
    await page.locator('#search').pressSequentially('e');
    await page.evaluate(() => getSelection().selectAllChildren(document.querySelector('#call-list .name')));
    await page.locator('#search').focus();
    await page.evaluate(() => getSelection().selectAllChildren(document.querySelector('#call-list .name')));
    await refreshed(page);
    check(await server.locator('.details').isVisible(), 'a row that was open is not after a refresh');
    check(await page.locator('#search').inputValue() === 'e', 'the search is forgotten');
    check(await page.evaluate(() => getSelection().toString()) === 'everything__get-sum', 'the selection is gone');
    check(await before.evaluate(all => all.filter(node => !node.matches('.tool')).every(node => node.isConnected)), 'rows are made anew');
    await page.locator('#search').fill('');
    await page.locator('#search').focus();
    await refreshed(page);
    check(await page.evaluate(() => document.activeElement.id) === 'search', 'the focus is gone');
    const link = page.locator('#attention a', { hasText: 'missing' });
    await link.click();
    check(await row(page, 'missing').locator('.details').isVisible(), 'a link does not open the row of its server');
  },

  async 'every look'(page) {
    for (const closed = page.locator('.disclosure[aria-expanded=false]'); await closed.count();) await closed.first().click();
    await refreshed(page);
    for (const lang of ['en', 'zh-CN']) {
      if (await page.getAttribute('html', 'lang') !== lang) await page.click('#language');
      await refreshed(page);
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        for (const width of [1280, 390]) {
          const what = `${lang} ${colorScheme} ${width}px`;
          await page.setViewportSize({ width, height: 900 });
          await fits(page, what);
          await accessible(page, what);
          await shot(page, what.replaceAll(' ', '-'));
        }
      }
    }
    await shows(row(page, 'missing'), '失败');
    await shows(row(page, 'missing'), '找不到命令');
    for (const radio of await page.locator('#clients input').all()) {
      await radio.check();
      await shows(page.locator('#client'), 'toolcrib connect');
      await fits(page, 'a client');
    }
    await page.click('#language');
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
  },

  async 'both languages say everything'(page) {
    for (const text of await page.evaluate(async () => {
      const { texts: { en, zh } } = await import('/ui/text.js');
      const names = new Set([...Object.keys(en), ...Object.keys(zh)]);
      return [...names].filter(name => !en[name] || !zh[name] || typeof en[name] !== typeof zh[name]);
    })) fail(`the text ${text} is not in both languages`);
    const chinese = await open('zh-CN', spec.url);
    await chinese.waitForSelector('.server');
    check(await chinese.getAttribute('html', 'lang') === 'zh-CN', 'the language of the browser is not taken');
    await chinese.context().close();
  },

  async 'copying'(page) {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: spec.url });
    await page.locator('#address button').click();
    await page.locator('#address button', { hasText: 'Copied' }).waitFor();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    check(text === spec.url + '/mcp', `copied ${text}`);
  },

  async 'no secret'(page) {
    const text = await page.content() + bodies.join('\n');
    check(bodies.length > 20 && text.includes('no-such-program'), 'nothing was looked at');
    for (const [where, secret] of Object.entries(spec.secrets)) check(!text.includes(secret), `shows the secret in ${where}`);
  },

  async 'the hub goes and comes back'(page) {
    excused = text => text.includes('net::ERR_');
    const details = row(page, 'everything').locator('.details');
    await doIt('stop');
    await page.locator('#away').waitFor();
    await shows(page.locator('#away'), 'has not answered since');
    check(await details.isVisible(), 'what was known is gone with the hub');
    await accessible(page, 'away');
    await fits(page, 'away');
    await shot(page, 'away');
    await doIt('start');
    await page.click('#retry');
    await page.locator('#away').waitFor({ state: 'hidden' });
    await details.locator('.log .entry', { hasText: 'starting' }).first().waitFor();
    excused = () => false;
  },

  async 'a token is asked for'() {
    excused = text => text.includes('status of 401');
    const page = await open('en-US', spec.secured);
    await page.locator('#token-form').waitFor();
    check(await page.locator('#board').isHidden(), 'shows something without a token');
    await accessible(page, 'token');
    await shot(page, 'token');
    await page.fill('#token', 'wrong');
    await page.keyboard.press('Enter');
    await page.locator('#token-form', { hasText: 'does not know' }).waitFor();
    await page.fill('#token', spec.token);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.server');
    check(await page.locator('#token-form').isHidden(), 'still asks for a token');
    check(await page.locator('#servers-hint').isVisible(), 'does not say how a server is added');
    check(await page.locator('#calls-hint').isVisible(), 'does not say how a tool is called');
    await shot(page, 'empty');
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
    check(!kept.includes(spec.token) && !(await page.content()).includes(spec.token), 'keeps the token');
    await violations(page);
    await page.reload();
    await page.locator('#token-form').waitFor();
    excused = () => false;
    await page.context().close();
  },
};

try {
  const page = await open('en-US', spec.url);
  for (const [name, part] of Object.entries(parts)) {
    try {
      await part(page);
    } catch (error) {
      fail(`${name}: ${error.stack}`);
      await shot(page, 'failed');
    }
    print({ did: name });
  }
  await violations(page);
} finally {
  await browser.close();
}
print({ end: true });
process.stdin.destroy();
