// What the page says, in English and Chinese. What the hub says comes from the
// hub in the language that it is asked for.

const plural = (n, one, many) => (n === 1 ? one : many.replace('#', n));

export const texts = {
  en: {
    skip: 'Skip to the content',
    nav: 'On this page',
    language: '中文',
    servers: 'Servers',
    tools: 'Tools',
    calls: 'Calls',
    connect: 'Connect',
    attention: 'Needs attention',
    hub: 'Hub',
    recentCalls: 'Recent calls',
    connectTitle: 'Connect a client',
    readOnly: 'This page only reads. To change something, use the command line: toolcrib --help',

    loading: 'Asking the hub …',
    back: 'The hub answers again.',
    away: (time) => (time ? `The hub has not answered since ${time}. What is shown may be out of date.` : 'The hub does not answer.'),
    refused: (detail) => `The hub refused to answer: ${detail}`,
    next: (time) => `Next try in ${time}.`,
    trying: 'Trying …',
    tryNow: 'Try now',
    startHub: 'If it does not run, start it: toolcrib serve',
    tokenNeeded: 'This hub asks everybody for a token.',
    tokenWrong: 'The hub does not know this token. Another one:',
    tokenUse: 'Use token',
    tokenNote: 'The token is kept until this page is closed or loaded again, and is sent to this hub only. “toolcrib token show” says where it is.',

    serversReady: 'Servers ready',
    toolsOffered: 'Tools offered',
    ofAll: (n, all) => `${n} of ${all}`,
    uptime: 'Running for',
    sessions: 'Open sessions',
    listen: 'Listens at',
    socketOnly: 'local socket only',
    config: 'Configuration',
    configMissing: (path) => `${path} (not there yet)`,
    configNone: 'none',
    dataDir: 'Data',
    pid: 'Process',
    configBroken: 'The configuration file is not in force',
    warnings: (n) => plural(n, '1 warning about the configuration', '# warnings about the configuration'),

    ready: 'Ready',
    degraded: 'Degraded',
    starting: 'Starting',
    reconnecting: 'Reconnecting',
    crashed: 'Crashed',
    failed: 'Failed',
    idle: 'Idle',
    disabled: 'Disabled',
    stopping: 'Stopping',
    stopped: 'Stopped',

    builtin: 'built-in',
    stdio: 'program',
    http: 'HTTP',
    sse: 'HTTP + SSE',
    ws: 'WebSocket',

    toolCount: (n) => plural(n, '1 tool', '# tools'),
    since: (time) => `for ${time}`,
    retry: (time) => `Tried again in ${time}.`,
    retryNow: 'Being tried again.',
    serversEmpty: 'So far there are only the built-in servers. Add one of your own:',
    key: 'Key',
    info: 'Calls itself',
    command: 'Command',
    url: 'URL',
    cwd: 'Directory',
    env: 'Variables set',
    headers: 'Headers sent',
    protocol: 'MCP revision',
    timeout: 'Time limit of a call',
    priority: 'Priority',
    autoStart: 'Start',
    onDemand: 'at the first call',
    hiddenTools: 'Tools hidden',
    resources: 'Resources',
    templates: 'Templates',
    prompts: 'Prompts',
    connection: 'Connections',
    shared: 'shared',
    perCaller: 'one per caller',
    junk: 'Junk lines on standard output',
    measured: 'Figures',
    callCount: (n, failed) => (failed ? `${n}, ${failed} failed` : String(n)),
    average: 'On average they took',
    median: 'Half of them took at most',
    slowest: '95% took at most',
    rarest: '99% took at most',
    extremes: 'Fastest and slowest',
    cpu: 'Processor time',
    underway: 'Under way',
    instances: 'Instances',
    ownConnections: 'Connections of callers’ own',
    subscriptions: 'Subscriptions',
    processes: 'Processes',
    memory: 'Memory',
    ownAndServers: (own, servers) => `${own}, servers ${servers}`,
    indexed: 'Tools in the index',
    indexedWith: (n, own) => `${n}, ${own} of built-in servers`,
    stderr: 'Standard error',
    log: 'Log',
    logEmpty: 'Nothing yet.',
    noTools: 'It offers none.',

    search: 'Search tools',
    found: (n, all) => (n === all ? plural(all, '1 tool', '# tools') : `${n} of ${all}`),
    toolsEmpty: 'No server offers a tool. See above what keeps the servers from being ready, or add one: toolcrib server add',
    toolsNone: 'No tool has these words in its name, server or description.',
    readOnlyTool: 'only reads',
    idempotent: 'repeatable',
    more: 'More',
    less: 'Less',
    all: (n) => `Show all ${n}`,
    fewer: 'Show fewer',

    callsEmpty: 'Nobody has called a tool yet. Connect a client below, or try it here:',
    ok: 'OK',
    tool_error: 'Tool error',
    unknown: 'Outcome unknown',
    underWay: 'Under way',
    toolSaysFailed: 'The tool answered with an error.',
    cancelled: 'Cancelled',
    viaMcp: 'HTTP',
    viaSse: 'HTTP + SSE',
    viaWs: 'WebSocket',
    viaStdio: 'stdio',
    viaRest: 'API',

    address: 'MCP over streamable HTTP:',
    client: 'Client',
    byCommand: 'One command writes the client’s own file, and keeps a copy of it as it was:',
    byProgram: 'Or by hand, as a program:',
    byUrl: 'Or by hand, as a URL:',
    inFile: (file) => `in ${file}`,
    noUrl: 'The file of this client takes programs only, not URLs.',
    pathHint: 'If the client does not find the program, write its whole path in place of “toolcrib”.',
    tokenHint: 'This hub asks for a token: send it as the header “Authorization: Bearer …”.',
    copy: 'Copy',
    copied: 'Copied',
    copyFailed: 'Not copied: select the text',
    copyOf: (what) => `Copy: ${what}`,
  },

  zh: {
    skip: '跳到正文',
    nav: '本页内容',
    language: 'English',
    servers: '服务器',
    tools: '工具',
    calls: '调用',
    connect: '连接',
    attention: '需要处理',
    hub: '概况',
    recentCalls: '最近的调用',
    connectTitle: '连接客户端',
    readOnly: '本页只读。要修改，请用命令行：toolcrib --help',

    loading: '正在读取……',
    back: 'Toolcrib 已恢复应答。',
    away: (time) => (time ? `自 ${time} 起 Toolcrib 没有应答，下面显示的可能已过时。` : 'Toolcrib 没有应答。'),
    refused: (detail) => `Toolcrib 拒绝应答：${detail}`,
    next: (time) => `${time}后重试。`,
    trying: '正在重试……',
    tryNow: '立即重试',
    startHub: '如果它没有运行，请启动：toolcrib serve',
    tokenNeeded: '此 Toolcrib 要求令牌。',
    tokenWrong: '令牌不正确，请重新输入：',
    tokenUse: '使用令牌',
    tokenNote: '令牌只保留到本页关闭或重新加载为止，且只发送给此 Toolcrib。令牌的位置见 “toolcrib token show”。',

    serversReady: '就绪的服务器',
    toolsOffered: '可用工具',
    ofAll: (n, all) => `${n} / ${all}`,
    uptime: '已运行',
    sessions: '打开的会话',
    listen: '监听',
    socketOnly: '仅本地套接字',
    config: '配置文件',
    configMissing: (path) => `${path}（尚不存在）`,
    configNone: '无',
    dataDir: '数据目录',
    pid: '进程',
    configBroken: '配置文件未生效',
    warnings: (n) => `配置有 ${n} 条警告`,

    ready: '就绪',
    degraded: '响应异常',
    starting: '正在启动',
    reconnecting: '正在重连',
    crashed: '已崩溃',
    failed: '失败',
    idle: '空闲',
    disabled: '已停用',
    stopping: '正在停止',
    stopped: '已停止',

    builtin: '内置',
    stdio: '程序',
    http: 'HTTP',
    sse: 'HTTP + SSE',
    ws: 'WebSocket',

    toolCount: (n) => `${n} 个工具`,
    since: (time) => `已 ${time}`,
    retry: (time) => `${time}后重试。`,
    retryNow: '正在重试。',
    serversEmpty: '目前只有内置服务器。添加一个：',
    key: '键',
    info: '自称',
    command: '命令',
    url: 'URL',
    cwd: '工作目录',
    env: '环境变量',
    headers: '请求头',
    protocol: 'MCP 版本',
    timeout: '调用时限',
    priority: '优先级',
    autoStart: '启动',
    onDemand: '首次调用时',
    hiddenTools: '隐藏的工具',
    resources: '资源',
    templates: '资源模板',
    prompts: '提示',
    connection: '连接方式',
    shared: '共用',
    perCaller: '每个调用方独占',
    junk: '标准输出中的杂行',
    measured: '用量',
    callCount: (n, failed) => (failed ? `${n} 次，${failed} 次失败` : `${n} 次`),
    average: '平均用时',
    median: '半数调用不超过',
    slowest: '95% 的调用不超过',
    rarest: '99% 的调用不超过',
    extremes: '最快与最慢',
    cpu: '处理器时间',
    underway: '进行中',
    instances: '实例',
    ownConnections: '调用方独占连接',
    subscriptions: '订阅',
    processes: '进程数',
    memory: '内存',
    ownAndServers: (own, servers) => `${own}，服务器 ${servers}`,
    indexed: '索引中的工具',
    indexedWith: (n, own) => `${n} 个，其中内置服务器 ${own} 个`,
    stderr: '标准错误',
    log: '日志',
    logEmpty: '还没有内容。',
    noTools: '没有提供工具。',

    search: '搜索工具',
    found: (n, all) => (n === all ? `${all} 个工具` : `${n} / ${all}`),
    toolsEmpty: '没有服务器提供工具。请看上面服务器未就绪的原因，或添加一个：toolcrib server add',
    toolsNone: '没有工具的名称、服务器或说明含有这些词。',
    readOnlyTool: '只读',
    idempotent: '可重复',
    more: '展开',
    less: '收起',
    all: (n) => `显示全部 ${n} 个`,
    fewer: '显示较少',

    callsEmpty: '还没有人调用过工具。请在下面连接客户端，或先试一次：',
    ok: '成功',
    tool_error: '工具报错',
    unknown: '结果未知',
    underWay: '进行中',
    toolSaysFailed: '工具以错误作答。',
    cancelled: '已取消',
    viaMcp: 'HTTP',
    viaSse: 'HTTP + SSE',
    viaWs: 'WebSocket',
    viaStdio: 'stdio',
    viaRest: 'API',

    address: '通过 streamable HTTP 使用 MCP：',
    client: '客户端',
    byCommand: '一条命令写入客户端自己的文件，并保留其原样的副本：',
    byProgram: '或手动添加，作为程序：',
    byUrl: '或手动添加，作为 URL：',
    inFile: (file) => `写入 ${file}`,
    noUrl: '此客户端的文件只接受程序，不接受 URL。',
    pathHint: '如果客户端找不到该程序，请将 “toolcrib” 换成完整路径。',
    tokenHint: '此 Toolcrib 要求令牌：请以请求头 “Authorization: Bearer …” 发送。',
    copy: '复制',
    copied: '已复制',
    copyFailed: '未能复制，请选中文字',
    copyOf: (what) => `复制：${what}`,
  },
};

const tags = { en: 'en', zh: 'zh-CN' };
const units = {
  en: [' s', ' min', ' h', ' d'],
  zh: [' 秒', ' 分钟', ' 小时', ' 天'],
};
const remembered = 'toolcrib.language';

let lang = 'en';

/** The text of a name in the language of the page. */
export function t(name, ...args) {
  const text = texts[lang][name];
  return typeof text === 'function' ? text(...args) : text;
}

/** The language of the page: en or zh. */
export const language = () => lang;

/** Takes the language chosen before, else that of the browser. */
export function detect() {
  let chosen = null;
  try {
    chosen = localStorage.getItem(remembered);
  } catch {
    // switched off: the choice lasts as long as the page
  }
  use(Object.hasOwn(texts, chosen ?? '') ? chosen : navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en');
}

/** Goes over to the other language. */
export function other() {
  use(lang === 'en' ? 'zh' : 'en');
  try {
    localStorage.setItem(remembered, lang);
  } catch {
    // as above
  }
}

function use(next) {
  lang = next;
  document.documentElement.lang = tags[lang];
  for (const node of document.querySelectorAll('[data-t]')) node.textContent = t(node.dataset.t);
  for (const node of document.querySelectorAll('[data-t-label]')) node.setAttribute('aria-label', t(node.dataset.tLabel));
  for (const node of document.querySelectorAll('[data-t-placeholder]')) node.placeholder = t(node.dataset.tPlaceholder);
}

/** A span of time in its largest unit, from milliseconds. */
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  const [second, minute, hour, day] = units[lang];
  if (s < 60) return s + second;
  if (s < 3600) return Math.floor(s / 60) + minute;
  if (s < 86400) return Math.floor(s / 3600) + hour;
  return Math.floor(s / 86400) + day;
}

/** How long a call took. */
export function took(ms) {
  if (ms < 0.1) return '< 0.1 ms';
  if (ms < 10) return ms.toFixed(1) + ' ms';
  if (ms < 1000) return Math.round(ms) + ' ms';
  if (ms < 60000) return (ms / 1000).toFixed(1) + units[lang][0];
  return span(ms);
}

/** A number of bytes. */
export function bytes(n) {
  if (n < 1 << 20) return Math.round(n / 1024) + ' KiB';
  if (n < 1 << 30) return Math.round(n / (1 << 20)) + ' MiB';
  return (n / (1 << 30)).toFixed(1) + ' GiB';
}

/** A time of the clock, with the day if that is another than today. */
export function clock(time) {
  const date = new Date(time);
  const form = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' };
  if (date.toDateString() !== new Date().toDateString()) Object.assign(form, { month: 'short', day: 'numeric' });
  return new Intl.DateTimeFormat(tags[lang], form).format(date);
}
