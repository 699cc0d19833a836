// A caller on the TypeScript SDK v1, which speaks the revisions to 2025-11-25:
// node legacy.mjs URL CALLS. It connects in the way that the URL says, lists the
// tools, makes the calls (a JSON array of {name, arguments}) one after the
// other, and prints what it saw as one line of JSON.
import { Client } from '../npm/node_modules/@modelcontextprotocol/sdk/dist/esm/client/index.js';
import { SSEClientTransport } from '../npm/node_modules/@modelcontextprotocol/sdk/dist/esm/client/sse.js';
import { StreamableHTTPClientTransport } from '../npm/node_modules/@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.js';
import { WebSocketClientTransport } from '../npm/node_modules/@modelcontextprotocol/sdk/dist/esm/client/websocket.js';

const [url, calls] = process.argv.slice(2);
const client = new Client({ name: 'typescript-v1', version: '1.0.0' });
let Transport = StreamableHTTPClientTransport;
if (url.startsWith('ws:')) Transport = WebSocketClientTransport;
if (url.endsWith('/sse')) Transport = SSEClientTransport;
const transport = new Transport(new URL(url));
let protocol;
const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = version => {
  protocol = version;
  setProtocolVersion?.(version);
};
await client.connect(transport);

// The SDK handles a notification a moment later than a response, so that one may
// get lost to it when both come in one piece. What counts is in which order they
// came.
let progress = [];
const handle = transport.onmessage;
transport.onmessage = (message, extra) => {
  if (message.method === 'notifications/progress') progress?.push(message.params.progress);
  if (message.result) progress = undefined;
  handle(message, extra);
};

const { tools } = await client.listTools();
const answers = [];
for (const call of JSON.parse(calls)) {
  const seen = progress = [];
  try {
    const result = await client.callTool(call, undefined, { onprogress: () => {} });
    answers.push({ result, progress: seen });
  } catch (error) {
    answers.push({ error: { code: error.code, message: error.message }, progress: seen });
  }
}
console.log(JSON.stringify({
  protocol,
  server: client.getServerVersion(),
  tools: tools.map(tool => tool.name),
  answers,
}));
await transport.terminateSession?.();
await client.close();
