// What the scripted model does with the tools of polis, and what it has to see in return. The same for all clients.
//
// A script is an async generator: it yields calls, and receives the text that the client showed to the model as the
// result. Arguments of later calls are taken from these texts, as a model would.

export const BOARD = 'mid/backend-leader';
export const TASKS = ['Write the parser', 'Test the parser'];
/** The agent that changes the board while the model works, and what it adds. */
export const OTHER_AGENT = 'reviewer';
export const OTHER_LINE = 'Tabs are an error.';
/** What the model writes on the board with a version that is no longer current. */
const STALE_LINE = 'Overwritten.';
const FILE = 'parser.txt';

/** The tools that the script calls. */
export const TOOLS = [
  'TaskList',
  'TaskClaim',
  'TaskUpdate',
  'whiteboard_append',
  'whiteboard_read',
  'whiteboard_write',
  'whiteboard_section',
  'run_command',
  'write_file',
];

/** A task from the list to its completion, with a stale edit on the way. */
export async function* workThroughTask(session) {
  const { agent } = session;
  const list = yield* expectSuccess(session, 'TaskList', { ready: true }, new RegExp(TASKS.join('[^]*')));
  const taskId = taskNumber(TASKS[0], list);
  yield* expectSuccess(session, 'TaskClaim', { taskId }, new RegExp(`claimed by ${agent}|"owner":"${agent}"`));

  yield* expectSuccess(session, 'whiteboard_append', { board: BOARD, content: beginning(agent) }, /version/);
  const read = yield* expectSuccess(session, 'whiteboard_read', { board: BOARD }, new RegExp(beginning(agent)));

  const { version: current } = session.polis('--as', OTHER_AGENT, 'board', 'append', BOARD, '--content', OTHER_LINE);
  const stale = { board: BOARD, content: STALE_LINE, expectedVersion: numberAfter('version', read) };
  const refusal = yield call(session, 'whiteboard_write', stale);
  checkConflict(session, refusal, current);

  // The refusal has all that is needed for a second attempt.
  const merged = {
    board: BOARD,
    content: `# Parser\n\n## Notes\n\n${OTHER_LINE}\n`,
    expectedVersion: numberAfter('currentVersion', refusal),
  };
  yield* expectSuccess(session, 'whiteboard_write', merged, /version/);
  const section = { board: BOARD, title: 'Notes', act: 'append', content: agreement(agent) };
  yield* expectSuccess(session, 'whiteboard_section', section, /version/);

  yield* useIfAllowed(session, 'run_command', { command: 'echo $((6 * 7))' }, /\b42\b/);
  yield* useIfAllowed(session, 'write_file', { path: FILE, content: fileContent(agent) }, /written|"ok":true/);

  yield* expectSuccess(session, 'TaskUpdate', { taskId, status: 'completed' }, /Task \d+ completed|"status":"completed"/);
}

/** Checks that polis shows what the script did, under the client's agent. */
export function checkTraces(session) {
  const { agent } = session;
  const commands = session.allows('run_command') ? [`command.run workspace/${agent}`] : [];
  const files = session.allows('write_file') ? [`file.written workspace/${agent}`] : [];
  const board = `board/${BOARD}`;
  const expected = [
    'task.claimed task/1',
    `board.appended ${board}`,
    `board.written ${board}`,
    `board.edited ${board}`,
    ...commands,
    ...files,
    'task.completed task/1',
  ];
  const log = session.log();
  const did = (actor) => log.filter((event) => event.actor === actor).map((event) => `${event.kind} ${event.subject}`);
  session.checkEqual(did(agent), expected, "the log has other events of the client's agent");
  session.checkEqual(did(OTHER_AGENT), Array(2).fill(`board.appended ${board}`), 'the log has other events of the other agent');
  const actors = [...new Set(log.map((event) => event.actor))].sort();
  session.checkEqual(actors, [agent, OTHER_AGENT, 'user'].sort(), 'the log has other actors');

  const [first, second] = ['1', '2'].map((id) => session.polis('task', 'get', id));
  session.checkEqual([first.status, first.owner], ['completed', agent], 'the first task is not completed by the agent');
  session.checkEqual([second.status, second.owner], ['pending', ''], 'the second task was touched');
  const { content } = session.polis('board', 'read', BOARD);
  session.check(content.includes(OTHER_LINE) && content.includes(agreement(agent)), 'the board has lost something:', content);
  session.check(!content.includes(STALE_LINE), 'the stale edit is on the board:', content);
  if (files.length > 0)
    session.checkEqual(session.polis('ws', 'cat', FILE, '--of', agent).content, fileContent(agent), 'the file has another content');
}

const beginning = (agent) => `${agent} begins.`;
const agreement = (agent) => `${agent} agrees.`;
const fileContent = (agent) => `By ${agent}.\n`;

/** Checks that the model sees a conflict whole, in the words of tools. */
function checkConflict(session, seen, currentVersion) {
  const parts = [
    'version_conflict',
    `currentVersion: ${currentVersion}`,
    `lastModifiedBy: ${OTHER_AGENT}`,
    `+${OTHER_LINE}`,
    'Next: ',
    'whiteboard_read',
    'expectedVersion',
  ];
  for (const part of parts) session.check(seen.includes(part), 'the conflict does not say', part);
  session.check(!/MCP error/.test(seen), 'the client shows an error of its own instead of the conflict');
  session.check(!/`polis |--[a-z]/.test(seen), 'the conflict names commands or options of the command line');
}

function call(session, tool, args) {
  return { tool, arguments: { ...args, ...session.client.extraArguments } };
}

/** Calls a tool that has to succeed; returns what the model saw. */
async function* expectSuccess(session, tool, args, expected) {
  const seen = yield call(session, tool, args);
  session.check(!/Next: |MCP error/.test(seen), tool, 'was refused');
  session.check(expected.test(seen), tool, 'does not show', String(expected));
  for (const extra of Object.keys(session.client.extraArguments ?? {})) {
    session.check(seen.includes(`ignored unknown arguments: ${extra}`), tool, 'does not name the unknown argument', extra);
  }
  return seen;
}

/** Calls a tool that some clients do not offer, or refuse where they cannot ask a person. */
async function* useIfAllowed(session, tool, args, expected) {
  if (session.allows(tool)) {
    yield* expectSuccess(session, tool, args, expected);
  } else if (session.client.refused.includes(tool)) {
    const seen = yield call(session, tool, args);
    session.check(/requires approval/.test(seen), 'the client does not refuse', tool);
  }
}

/** Returns the number after a name, in JSON (`"version":3`) and in text (`version 3`, `currentVersion: 3`). */
function numberAfter(name, seen) {
  const found = new RegExp(`${name}"?:? ?(\\d+)`).exec(seen);
  if (!found) throw new Error(`the model does not see a ${name}`);
  return Number(found[1]);
}

/** Returns the number of a task, from a list in JSON or in text (`1 pending: Write the parser`). */
function taskNumber(subject, seen) {
  const found = new RegExp(`"id":"(\\d+)","subject":"${subject}"|(\\d+) pending: ${subject}`).exec(seen);
  if (!found) throw new Error(`the model does not see the number of the task ${subject}`);
  return found[1] ?? found[2];
}
