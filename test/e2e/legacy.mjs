// A caller on the TypeScript SDK v1, which speaks the revisions to 2025-11-25:
// node legacy.mjs URL CALLS. It connects, lists the tools, makes the calls
// (a JSON array of {name, arguments}) one after the other, and prints what it
// saw as one line of JSON.
import { Client } from '../npm/node_modules/@modelcontextprotocol/sdk/dist/esm/client/index.js';
import { StreamableHTTPClientTransport } from '../npm/node_modules/@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.js';

const [url, calls] = process.argv.slice(2);
const client = new Client({ name: 'typescript-v1', version: '1.0.0' });
const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);

const { tools } = await client.listTools();
const answers = [];
for (const call of JSON.parse(calls)) {
  const progress = [];
  const onprogress = p => progress.push(p.progress);
  try {
    const result = await client.callTool(call, undefined, { onprogress });
    answers.push({ result, progress });
  } catch (error) {
    answers.push({ error: { code: error.code, message: error.message }, progress });
  }
}
console.log(JSON.stringify({
  protocol: transport.protocolVersion,
  server: client.getServerVersion(),
  tools: tools.map(tool => tool.name),
  answers,
}));
await transport.terminateSession();
await client.close();
