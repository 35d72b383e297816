// The official npm client against a server; prints one line of JSON about what it saw.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [kind, ...rest] = process.argv.slice(2);
const transport = kind === 'stdio'
  ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), stderr: 'ignore' })
  : new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: 'Bearer ' + rest[1] } } });
const errors = [];
const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
client.onerror = error => errors.push(String(error));
let questions = 0;
client.setRequestHandler(ElicitRequestSchema, async () => {
  questions++;
  return { action: 'accept', content: { decision: 'approve' } };
});
await client.connect(transport);
const text = result => result.content.map(block => block.text ?? '').join('\n');
const tools = (await client.listTools()).tools;
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const code = await call('run_code', { code: 'echo hello\nexit 2', language: 'sh' });
const image = await call('run_code', { code: 'image', language: 'sh' });
const wrong = await call('run_code', { code: 'x', language: 'sh', privileged: true });
let progress = 0;
await call('run_command', { command: 'sleep 2500' }, { onprogress: () => { progress++; } });
const abort = new AbortController();
setTimeout(() => abort.abort('enough'), 300);
let aborted = false;
await call('run_command', { command: 'hang' }, { signal: abort.signal }).catch(() => { aborted = true; });
const sandbox = (await call('create_sandbox', {})).structuredContent.id;
await call('write_file', { sandbox, path: 'a.txt', text: 'content' });
const read = await call('read_file', { sandbox, path: 'a.txt' });
const asked = kind === 'http' ? text(await call('run_command', { command: 'ask ap1' })) : '';
if (kind === 'http') {
  await transport.terminateSession();
}
await client.close();
console.log(JSON.stringify({
  server: client.getServerVersion()?.name, tools: tools.length, exitCode: code.structuredContent.exitCode,
  text: text(code), images: image.content.filter(block => block.type === 'image').length, wrong: wrong.isError,
  progress, aborted, read: read.structuredContent.data, asked, questions,
  errors: errors.filter(error => !error.includes('Abort')),
}));
process.exit(0);
