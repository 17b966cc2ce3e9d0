// Runs the sessions of one client: connected with `polis mcp install`, and over HTTP with a token. Prints one line per
// session; on failure also the tool calls, their results and the output of the client.
//
//   sessions.mjs CLIENT POLIS CLIENT_MODULES PEER_MODULES
//
// With POLIS_CLIENTS_RECORD=DIR, writes everything that the model was shown to that directory.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

import { ClientSession } from './client_session.mjs';
import { CLIENTS, missingFromGuide } from './clients.mjs';
import { FINAL_TEXT } from './model_server.mjs';
import { offeredByPolis } from './offered_by_polis.mjs';
import { checkTraces, TOOLS, workThroughTask } from './scenario.mjs';

const [clientName, polis, clientModules, peerModules] = process.argv.slice(2);
const client = CLIENTS[clientName];
const directory = `${clientModules}/${client.package(process.arch)}`;
const command = client.command(directory, process.arch);
const GUIDE = new URL('../../docs/guide/agents.md', import.meta.url);

/** Ways to connect polis: the printed title and the function that connects. */
const CONNECTIONS = [
  { title: 'stdio', connect: (session) => session.install() },
  ...(client.refused.length > 0 ? [{ title: 'stdio --allow-tools', connect: (session) => session.install('--allow-tools') }] : []),
  { title: 'http', connect: (session) => session.connectOverHttp() },
];

function version() {
  // The version of Codex includes the platform: 0.1.0-linux-x64.
  return JSON.parse(readFileSync(`${directory}/package.json`, 'utf8')).version.split('-')[0];
}

async function* script(session) {
  if (client.prelude) yield* client.prelude(TOOLS);
  yield* workThroughTask(session);
}

async function run(session, { connect }) {
  session.prepare();
  await connect(session);
  const offered = await offeredByPolis(peerModules, session);
  await session.converse(script(session), command);

  session.check(session.output.includes(FINAL_TEXT), 'the client does not show the final text of the model');
  const [first] = session.model.turns;
  for (const tool of offered.tools) {
    const isOffered = first.tools.includes(client.toolName(tool));
    session.check(isOffered !== client.hidden.includes(tool), tool, isOffered ? 'is offered to the model' : 'is not offered to the model');
  }
  session.check(
    first.texts.some((text) => text.includes(offered.instructions)),
    'the model does not see the instructions of polis:',
    offered.instructions,
  );
  session.checkEqual(session.model.outside, [], 'the client sends requests to other hosts');
  session.checkEqual(session.model.unknown, [], 'the client sends unsupported requests to the model API');
  session.checkEqual(await session.remainingProcesses(), [], 'processes are still running after the client has exited');
  checkTraces(session);
  await session.stopServer();
  session.check(!/ (ERROR|WARN) /.test(session.serverOutput), 'polis serve logs errors or warnings');
}

/** Returns the last `length` characters of a text, marked as shortened if it is longer. */
function tail(text, length) {
  return text.length > length ? `… ${text.slice(-length)}` : text;
}

function report(session, error) {
  console.error(`\n${client.title}: ${error.message}`);
  console.error('\nTool calls of the model and their results:');
  for (const { tool, ownTool, arguments: args, seen } of session.model?.steps ?? []) {
    console.error(`> ${ownTool ?? tool} ${JSON.stringify(args)}\n${tail(seen ?? '(no result)', 1500).replace(/^/gm, '  ')}`);
  }
  console.error(`\nEnd of the client output:\n${tail(session.output, 4000)}`);
  if (session.serverOutput) console.error(`\nEnd of the polis serve output:\n${tail(session.serverOutput, 2000)}`);
}

function record(session, title) {
  const target = process.env.POLIS_CLIENTS_RECORD;
  if (!target || !session.model) return;
  mkdirSync(target, { recursive: true });
  const { steps, turns } = session.model;
  writeFileSync(`${target}/${clientName} ${title}.json`, JSON.stringify({ steps, turns, output: session.output }, null, 2));
}

if (client.architectures && !client.architectures.includes(process.arch)) {
  console.log(`  ${client.title}: skipped, the pinned version has no executable for ${process.arch}`);
  process.exit(0);
}
// npm does not fail if an executable could not be downloaded, because the packages of all platforms are optional.
if (!existsSync(command.at(-1))) {
  console.error(
    `${client.title} is not installed for ${process.platform} on ${process.arch}. Remove target/peers/clients and run this again.`,
  );
  process.exit(1);
}
const missing = missingFromGuide(client, version(), readFileSync(GUIDE, 'utf8'));
if (missing.length > 0) {
  console.error(`docs/guide/agents.md lacks instructions that are tested with ${client.title}:\n${missing.join('\n')}`);
  process.exit(1);
}
let current;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    current?.close();
    process.exit(130);
  });
}
for (const connection of CONNECTIONS) {
  const started = performance.now();
  const name = `${client.title} ${version()}, ${connection.title}`;
  current = new ClientSession(clientName, client, polis);
  try {
    await run(current, connection);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`  ${name}: ${current.model.steps.length} calls, ${current.checks} checks, ${seconds} s`);
  } catch (error) {
    console.log(`  ${name}: FAILED`);
    report(current, error);
    process.exitCode = 1;
  } finally {
    record(current, connection.title);
    current.close();
  }
}
