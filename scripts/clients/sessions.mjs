// Runs the sessions of one client: connected by `polis mcp install`, and over HTTP with a token. Prints a line for each,
// and on failure what the model saw and what the client wrote.
//
//   sessions.mjs CLIENT POLIS CLIENT_MODULES PEER_MODULES
//
// With POLIS_CLIENTS_RECORD=DIR everything that the model was shown is written there.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

import { ClientSession } from './client_session.mjs';
import { CLIENTS, guideFaults } from './clients.mjs';
import { LAST_WORDS } from './model_server.mjs';
import { offeredByPolis } from './offered_by_polis.mjs';
import { checkTraces, TOOLS, workThroughTask } from './scenario.mjs';

const [clientName, polis, clientModules, peerModules] = process.argv.slice(2);
const client = CLIENTS[clientName];
const directory = `${clientModules}/${client.package(process.arch)}`;
const command = client.command(directory, process.arch);
const GUIDE = new URL('../../docs/guide/agents.md', import.meta.url);

/** How polis is connected: what is printed, and how it is done. */
const CONNECTIONS = [
  { title: 'stdio', connect: (session) => session.install() },
  ...(client.refused.length > 0 ? [{ title: 'stdio --allow-tools', connect: (session) => session.install('--allow-tools') }] : []),
  { title: 'http', connect: (session) => session.connectOverHttp() },
];

function version() {
  // Codex names its platform in the version: 0.1.0-linux-x64.
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

  session.check(session.output.includes(LAST_WORDS), 'the client does not show the last words of the model');
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
  session.checkEqual(session.model.outside, [], 'the client asks other hosts');
  session.checkEqual(session.model.unknown, [], 'the client makes requests that are not scripted');
  session.checkEqual(await session.remainingProcesses(), [], 'processes run still after the client has ended');
  checkTraces(session);
  await session.stopServer();
  session.check(!/ (ERROR|WARN) /.test(session.serverOutput), 'polis serve logs errors or warnings');
}

/** Returns the end of a text, so that what matters is not lost between screens of it. */
function cut(text, length) {
  return text.length > length ? `… ${text.slice(-length)}` : text;
}

function report(session, error) {
  console.error(`\n${client.title}: ${error.message}`);
  console.error('\nWhat the model did and saw:');
  for (const { tool, ownTool, arguments: args, seen } of session.model?.steps ?? []) {
    console.error(`> ${ownTool ?? tool} ${JSON.stringify(args)}\n${cut(seen ?? '(no result)', 1500).replace(/^/gm, '  ')}`);
  }
  console.error(`\nThe end of what the client wrote:\n${cut(session.output, 4000)}`);
  if (session.serverOutput) console.error(`\nThe end of what polis serve wrote:\n${cut(session.serverOutput, 2000)}`);
}

function record(session, title) {
  const target = process.env.POLIS_CLIENTS_RECORD;
  if (!target || !session.model) return;
  mkdirSync(target, { recursive: true });
  const { steps, turns } = session.model;
  writeFileSync(`${target}/${clientName} ${title}.json`, JSON.stringify({ steps, turns, output: session.output }, null, 2));
}

if (client.architectures && !client.architectures.includes(process.arch)) {
  console.log(`  ${client.title}: not run, there is no program of the pinned version for ${process.arch}`);
  process.exit(0);
}
// npm does not fail if a program could not be downloaded: those for other machines are optional too.
if (!existsSync(command.at(-1))) {
  console.error(
    `${client.title} is not installed for ${process.platform} on ${process.arch}. Remove target/peers/clients and run this again.`,
  );
  process.exit(1);
}
const faults = guideFaults(client, version(), readFileSync(GUIDE, 'utf8'));
if (faults.length > 0) {
  console.error(`docs/guide/agents.md does not say what is tested with ${client.title}:\n${faults.join('\n')}`);
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
  const begun = performance.now();
  const name = `${client.title} ${version()}, ${connection.title}`;
  current = new ClientSession(clientName, client, polis);
  try {
    await run(current, connection);
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
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
