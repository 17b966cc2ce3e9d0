// Interoperability test with the official TypeScript SDKs, over stdio and HTTP: SDK 2.x with the stateless and the
// legacy protocol, SDK 1.x, and the last 1.x release that negotiates 2025-06-18. Most coding agents are built on one of
// them, and a 1.x client replaces a result that does not match the tool's output schema with an error.
//
//   typescript_session.mjs MODULES POLIS DIR URL      POLIS_TOKEN is the token of `alice`

import { strict as assert } from 'node:assert';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, polis, directory, url] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const BOARD = 'top';

/** Returns the SDKs to test: name, expected protocol revision, and classes. */
async function sdks() {
  const version1 = async (name, revision, packageName) => ({
    name,
    revision,
    Client: (await load(`${packageName}/client/index.js`)).Client,
    Stdio: (await load(`${packageName}/client/stdio.js`)).StdioClientTransport,
    Http: (await load(`${packageName}/client/streamableHttp.js`)).StreamableHTTPClientTransport,
    options: {},
  });
  const version2 = async (revision, mode) => {
    const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
    const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');
    const options = { versionNegotiation: { mode } };
    return { name: 'SDK 2', revision, Client, Stdio: StdioClientTransport, Http: StreamableHTTPClientTransport, options };
  };
  return [
    await version1('SDK 1.23', '2025-06-18', 'sdk-2025-06-18'),
    await version1('SDK 1', '2025-11-25', '@modelcontextprotocol/sdk'),
    await version2('2025-11-25', 'legacy'),
    await version2('2026-07-28', 'auto'),
  ];
}

/** One connected client, and the number of checks made with it. */
class Session {
  constructor(name, client) {
    Object.assign(this, { name, client, checks: 0 });
  }

  check(condition, ...message) {
    this.checks += 1;
    assert.ok(condition, `${this.name}: ${message.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(' ')}`);
  }

  /** Calls a tool, which must succeed; returns its structured content. */
  async call(tool, args) {
    const result = await this.client.callTool({ name: tool, arguments: args });
    this.check(!result.isError, tool, 'was refused:', result.content);
    this.check(result.structuredContent, tool, 'has no structured content');
    return result.structuredContent;
  }

  /** Calls a tool, which must be refused with this code; returns the text, the only part that a model sees. */
  async refused(code, tool, args) {
    const result = await this.client.callTool({ name: tool, arguments: args });
    this.check(result.isError, tool, args, 'was not refused:', result);
    this.check(result.structuredContent === undefined, tool, 'has structured content in addition to its error:', result);
    const { text } = result.content[0];
    this.check(text.startsWith(`${code}: `), tool, 'should be refused with', code, 'instead of', text);
    this.check(text.includes('\nNext: '), tool, 'names no next step:', text);
    this.check(!text.includes(directory), tool, "shows the host's path:", text);
    return text;
  }
}

async function checkRefusals(s) {
  await s.refused('task_not_found', 'TaskGet', { taskId: '999999999' });
  await s.refused('invalid_task_id', 'TaskGet', { taskId: 'x' });
  await s.refused('invalid_input', 'TaskCreate', {});
  // A conflict must contain the current version and the changes since the expected one.
  const { version } = await s.call('whiteboard_read', { board: BOARD });
  const ours = await s.call('whiteboard_write', { board: BOARD, content: `# Top\n\nold words\n`, expectedVersion: version });
  const theirs = await s.call('whiteboard_write', { board: BOARD, content: `# Top\n\nnew words\n`, expectedVersion: ours.version });
  const stale = { board: BOARD, content: 'lost', expectedVersion: ours.version };
  const text = await s.refused('version_conflict', 'whiteboard_write', stale);
  for (const part of [`currentVersion: ${theirs.version}`, 'lastModifiedBy: alice', '-old words', '+new words']) {
    s.check(text.includes(part), 'the conflict does not contain', part, text);
  }
}

async function checkTaskLifecycle(s) {
  const created = await s.call('TaskCreate', { subject: `Session of ${s.name}`, description: 'From the TypeScript SDK.' });
  const claimed = await s.call('TaskClaim', { taskId: created.id });
  s.check(claimed.owner === 'alice', 'claimed by', claimed.owner);
  const completed = await s.call('TaskUpdate', { taskId: created.id, status: 'completed' });
  s.check(completed.status === 'completed', 'completed:', completed);
  await s.refused('invalid_transition', 'TaskUpdate', { taskId: created.id, status: 'pending' });
}

/** Unknown arguments are ignored with a note: Gemini CLI adds this one to every call. */
async function checkUnknownArguments(s) {
  const result = await s.client.callTool({ name: 'TaskList', arguments: { ready: true, wait_for_previous: true } });
  s.check(!result.isError, 'an unknown argument was refused:', result.content);
  s.check(result.content[0].text.includes('ignored unknown arguments: wait_for_previous'), 'the ignored argument is not named:', result);
  const text = await s.refused('invalid_input', 'TaskGet', { task_id: '1' });
  s.check(text.includes('did you mean "taskId"?'), 'no correction is suggested:', text);
}

/** Codex without a person to ask allows only tools that are read-only, or neither destructive nor open-world. */
function checkAnnotations(s, tools) {
  const allowed = ({ annotations: hints }) => hints.readOnlyHint || (hints.destructiveHint === false && hints.openWorldHint === false);
  const names = tools.filter(allowed).map((tool) => tool.name);
  for (const name of ['TaskList', 'TaskClaim', 'TaskUpdate', 'TaskComment', 'whiteboard_append', 'whiteboard_section', 'whiteboard_write']) {
    s.check(names.includes(name), name, 'is not among', names);
  }
  for (const tool of tools) {
    for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']) {
      s.check(typeof tool.annotations?.[hint] === 'boolean', tool.name, 'has no', hint);
    }
  }
}

/** Every parameter has a description, and roles and task types are enumerated. */
function checkParameters(s, tools) {
  for (const tool of tools) {
    for (const [name, schema] of Object.entries(tool.inputSchema.properties ?? {})) {
      s.check(schema.description, tool.name, name, 'has no description');
    }
  }
  const { requiredRole, taskType } = tools.find((tool) => tool.name === 'TaskCreate').inputSchema.properties;
  s.check(requiredRole.enum.includes('backend-leader'), 'the roles are not listed:', requiredRole);
  s.check(taskType.enum.includes('bug_fix'), 'the types are not listed:', taskType);
}

async function runSession(name, sdk, transport) {
  const client = new sdk.Client({ name: 'polis-peer', version: '1' }, sdk.options);
  const s = new Session(name, client);
  // Messages that the SDK could not parse. Some clients close the connection in that case.
  const errors = [];
  client.onerror = (error) => errors.push(String(error));
  const negotiated = [];
  const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    negotiated.push(version);
    setProtocolVersion?.(version);
  };
  await client.connect(transport);
  s.check(negotiated.at(-1) === sdk.revision, 'negotiated', negotiated);
  // A client validates results only after it has listed the tools, because the list has the output schemas.
  const { tools } = await client.listTools();
  s.check(tools.length >= 20, 'lists', tools.length, 'tools');
  checkAnnotations(s, tools);
  checkParameters(s, tools);
  await checkTaskLifecycle(s);
  await checkRefusals(s);
  await checkUnknownArguments(s);
  s.check(errors.length === 0, 'the SDK reported errors:', errors);
  await client.close();
  console.log(`  ${name}: ${s.checks} checks`);
}

for (const sdk of await sdks()) {
  const stdio = { command: polis, args: ['mcp', '--agent', 'alice', '--dir', directory, '--tools', 'all'] };
  await runSession(`${sdk.name} stdio ${sdk.revision}`, sdk, new sdk.Stdio(stdio));
  const headers = { Authorization: `Bearer ${process.env.POLIS_TOKEN}` };
  const http = new sdk.Http(new URL(`${url}/mcp?tools=all`), { requestInit: { headers } });
  await runSession(`${sdk.name} http ${sdk.revision}`, sdk, http);
}
