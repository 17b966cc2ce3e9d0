// The scenario of the scripted model: its tool calls, and the results that it must receive. All clients use the same.
//
// A script is an async generator: it yields tool calls and receives each result as the text that the client showed to
// the model. Like a model, it takes arguments of later calls from these texts.

export const BOARD = 'mid/backend-leader';
export const TASKS = ['Write the parser', 'Test the parser'];
/** The agent that changes the board concurrently, and the line that it adds. */
export const OTHER_AGENT = 'reviewer';
export const OTHER_LINE = 'Tabs are an error.';
/** The content of the write with a stale version, which must be refused. */
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

/** Lists, claims and completes a task, with a version conflict in between. */
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

  // The refusal contains everything that is needed to retry.
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

/** Checks the effects of the script in polis, and that they are attributed to the client's agent. */
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
  const eventsOf = (actor) => log.filter((event) => event.actor === actor).map((event) => `${event.kind} ${event.subject}`);
  session.checkEqual(eventsOf(agent), expected, "unexpected events of the client's agent in the log");
  session.checkEqual(eventsOf(OTHER_AGENT), Array(2).fill(`board.appended ${board}`), 'unexpected events of the other agent in the log');
  const actors = [...new Set(log.map((event) => event.actor))].sort();
  session.checkEqual(actors, [agent, OTHER_AGENT, 'user'].sort(), 'unexpected actors in the log');

  const [first, second] = ['1', '2'].map((id) => session.polis('task', 'get', id));
  session.checkEqual([first.status, first.owner], ['completed', agent], 'status and owner of the first task');
  session.checkEqual([second.status, second.owner], ['pending', ''], 'status and owner of the second task, which must be unchanged');
  const { content } = session.polis('board', 'read', BOARD);
  session.check(content.includes(OTHER_LINE) && content.includes(agreement(agent)), 'an edit is missing from the board:', content);
  session.check(!content.includes(STALE_LINE), 'the stale edit is on the board:', content);
  if (files.length > 0)
    session.checkEqual(session.polis('ws', 'cat', FILE, '--of', agent).content, fileContent(agent), 'content of the file');
}

const beginning = (agent) => `${agent} begins.`;
const agreement = (agent) => `${agent} agrees.`;
const fileContent = (agent) => `By ${agent}.\n`;

/** Checks that the model sees all details of a conflict, with tool names and without CLI syntax. */
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
  for (const part of parts) session.check(seen.includes(part), 'the conflict does not contain', part);
  session.check(!/MCP error/.test(seen), 'the client replaces the conflict with its own error');
  session.check(!/`polis |--[a-z]/.test(seen), 'the conflict contains CLI commands or options');
}

function call(session, tool, args) {
  return { tool, arguments: { ...args, ...session.client.extraArguments } };
}

/** Calls a tool, which must succeed; returns the result as shown to the model. */
async function* expectSuccess(session, tool, args, expected) {
  const seen = yield call(session, tool, args);
  session.check(!/Next: |MCP error/.test(seen), tool, 'was refused');
  session.check(expected.test(seen), tool, 'does not show', String(expected));
  for (const extra of Object.keys(session.client.extraArguments ?? {})) {
    session.check(seen.includes(`ignored unknown arguments: ${extra}`), tool, 'does not name the unknown argument', extra);
  }
  return seen;
}

/** Calls a tool that some clients do not offer, or refuse in non-interactive runs. */
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
  const match = new RegExp(`${name}"?:? ?(\\d+)`).exec(seen);
  if (!match) throw new Error(`the result contains no ${name}`);
  return Number(match[1]);
}

/** Returns the number of a task, from a list in JSON or in text (`1 pending, version 1: Write the parser`). */
function taskNumber(subject, seen) {
  const match = new RegExp(`"id":"(\\d+)","subject":"${subject}"|(\\d+) pending, version \\d+: ${subject}`).exec(seen);
  if (!match) throw new Error(`the result does not contain the number of the task ${subject}`);
  return match[1] ?? match[2];
}
