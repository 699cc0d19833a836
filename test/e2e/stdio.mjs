// A long-lived caller on one of the TypeScript SDKs, which starts a program:
// node stdio.mjs v1|v2 COMMAND ARGS... It prints {protocol, tools} as one line
// of JSON, and {tools} again whenever it is told that they have changed. It
// makes the calls that come on standard input, a JSON object {name, arguments}
// on each line, all at once, and prints for each {name} with {text} or {error},
// as they end.
import { createInterface } from 'node:readline';

const modules = '../npm/node_modules/@modelcontextprotocol/';
const sdk = {
  v1: {
    client: modules + 'sdk/dist/esm/client/index.js',
    stdio: modules + 'sdk/dist/esm/client/stdio.js',
    options: {},
  },
  v2: {
    client: modules + 'client/dist/index.mjs',
    stdio: modules + 'client/dist/stdio.mjs',
    options: { versionNegotiation: { mode: 'auto' } },
  },
};
const [version, command, ...args] = process.argv.slice(2);
const { client: clientModule, stdio, options } = sdk[version];
const { Client } = await import(clientModule);
const { StdioClientTransport } = await import(stdio);

const print = value => console.log(JSON.stringify(value));
const names = tools => tools.map(tool => tool.name);
const listChanged = {
  tools: { debounceMs: 0, onChanged: (error, tools) => print(error ? { error: { message: error.message } } : { tools: names(tools) }) },
};
const client = new Client({ name: 'typescript-' + version, version: '1.0.0' }, { ...options, listChanged });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
const { tools } = await client.listTools();
print({ protocol: client.getNegotiatedProtocolVersion?.() ?? '', tools: names(tools) });

const answer = result => ({ text: result.content.map(part => part.text).join('') });
for await (const line of createInterface({ input: process.stdin })) {
  const call = JSON.parse(line);
  client.callTool(call).then(answer, error => ({ error: { message: error.message, data: error.data } }))
    .then(outcome => print({ name: call.name, ...outcome }));
}
await client.close();
