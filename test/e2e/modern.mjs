// A caller on the TypeScript SDK v2, which finds out whether the other side
// speaks revision 2026-07-28: node modern.mjs URL CALLS. Otherwise the same as
// legacy.mjs.
import { Client, StreamableHTTPClientTransport } from '../npm/node_modules/@modelcontextprotocol/client/dist/index.mjs';

const [url, calls] = process.argv.slice(2);
const client = new Client({ name: 'typescript-v2', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const { tools } = await client.listTools();
const answers = [];
for (const call of JSON.parse(calls)) {
  const progress = [];
  const onprogress = p => progress.push(p.progress);
  try {
    const result = await client.callTool(call, { onprogress });
    answers.push({ result, progress });
  } catch (error) {
    answers.push({ error: { code: error.code, message: error.message }, progress });
  }
}
console.log(JSON.stringify({
  protocol: client.getNegotiatedProtocolVersion(),
  server: client.getServerVersion(),
  tools: tools.map(tool => tool.name),
  answers,
}));
await client.close();
