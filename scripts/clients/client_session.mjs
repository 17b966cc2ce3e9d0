// One run of a client: creates a project and a home directory, configures polis in the client, runs the client
// non-interactively with a scripted model, and removes everything afterwards.

import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { GUIDE_PROJECT, GUIDE_URL } from './clients.mjs';
import { ModelServer } from './model_server.mjs';
import { BOARD, OTHER_AGENT, TASKS } from './scenario.mjs';

/** Time limit of a client run. The slowest client needs about ten seconds on two busy cores. */
const CLIENT_TIMEOUT_MS = 120_000;
/** Time limit of a command, and of waiting for a process to exit. */
const PROCESS_TIMEOUT_MS = 20_000;

const PROMPT = 'Work on the next task of the team with the tools of polis.';

export class ClientSession {
  checks = 0;
  /** Output of the client and of `polis serve`, stdout and stderr combined. */
  output = '';
  serverOutput = '';
  model = undefined;

  #directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'polis-clients-')));
  #children = [];
  #server;
  #token;
  #allowsAll = false;

  /**
   * @param clientName the name of the client for `polis mcp install`, and of its agent
   * @param client its entry in `clients.mjs`
   * @param program the polis binary
   */
  constructor(clientName, client, program) {
    Object.assign(this, { agent: clientName, client, program });
    this.home = path.join(this.#directory, 'home');
    // The space tests quoting in configurations and command lines.
    this.project = path.join(this.#directory, 'a project');
    for (const directory of [this.home, this.project, path.join(this.home, 'tmp')]) mkdirSync(directory);
    const { PATH, LANG } = process.env;
    this.environment = { PATH, ...(LANG && { LANG }), HOME: this.home, TMPDIR: path.join(this.home, 'tmp') };
  }

  /** Throws an error with this message if the condition is false. */
  check(condition, ...message) {
    this.checks += 1;
    if (!condition) throw new Error(message.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(' '));
  }

  checkEqual(actual, expected, message) {
    this.check(isDeepStrictEqual(actual, expected), `${message}:`, actual, 'instead of', expected);
  }

  /** Returns whether the client allows its model to use a tool. */
  allows(tool) {
    const { hidden, refused } = this.client;
    return !hidden.includes(tool) && (this.#allowsAll || !refused.includes(tool));
  }

  /** Runs polis in the project; returns its parsed JSON output. */
  polis(...args) {
    return JSON.parse(this.#run(this.program, ['--json', ...args]));
  }

  /** Returns the events of the polis log. */
  log() {
    return this.#run(this.program, ['--json', 'log'])
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  }

  /** Creates a git repository with a polis project: two tasks, a board, and an agent in addition to the client's. */
  prepare() {
    writeFileSync(path.join(this.project, 'README.md'), '# A project\n');
    const author = ['-c', 'user.name=Tests', '-c', 'user.email=tests@localhost'];
    this.#run('git', ['init', '--quiet']);
    this.#run('git', ['add', '.']);
    this.#run('git', [...author, 'commit', '--quiet', '--message=Begin']);
    this.polis('init');
    this.polis('agent', 'add', OTHER_AGENT, '--role', 'backend-leader');
    for (const subject of TASKS) this.polis('task', 'create', '--subject', subject);
    this.polis('--as', OTHER_AGENT, 'board', 'append', BOARD, '--content', 'The team begins.');
  }

  /** Connects the client over stdio, with the command from the guide. */
  install(...flags) {
    const [, ...args] = [...this.client.headless.install.split(' '), ...flags];
    this.#allowsAll = args.includes('--allow-tools');
    this.polis(...args);
  }

  /** Starts `polis serve` and connects the client to it, with the configuration from the guide and a token. */
  async connectOverHttp() {
    this.polis('agent', 'add', this.agent, '--role', 'backend-leader');
    this.#token = this.polis('agent', 'token', 'issue', this.agent).token;
    this.#server = this.#spawn(this.program, ['--json', 'serve', '--listen', '127.0.0.1:0'], this.environment);
    this.#server.stderr.on('data', (part) => (this.serverOutput += part));
    const url = await new Promise((resolve, reject) => {
      let line = '';
      this.#server.stdout.on('data', (part) => {
        line += part;
        if (line.includes('\n')) resolve(JSON.parse(line).listening);
      });
      this.#server.once('exit', (status) => reject(new Error(`polis serve exited with ${status} before it was listening`)));
    });
    const { file, text } = this.client.http;
    this.#append(file, text.replace(GUIDE_URL, url));
  }

  /** Stops `polis serve`, if it is running. */
  async stopServer() {
    if (!this.#server) return;
    const ended = new Promise((resolve) => this.#server.once('exit', resolve));
    this.#server.kill('SIGTERM');
    const timeout = delay(PROCESS_TIMEOUT_MS, 'a timeout', { ref: false });
    this.checkEqual(await Promise.race([ended, timeout]), 0, 'exit status of polis serve');
  }

  /**
   * Runs the client with the prompt until it exits; the scripted model follows `script`.
   *
   * @param command the client's executable, preceded by an interpreter if it needs one
   */
  async converse(script, command) {
    const { api, toolName, headless, modelFiles, modelEnvironment } = this.client;
    this.model = new ModelServer({ api, script, toolName, prompt: PROMPT });
    const url = await this.model.listen();
    for (const [file, text] of Object.entries(modelFiles(url))) this.#append(file, text);
    if (headless.file) this.#append(headless.file, headless.text.replace(GUIDE_PROJECT, this.project));

    const words = headless.run.split(' ');
    const variables = words.filter((word) => word.includes('=')).map((word) => word.split('='));
    const [, ...args] = words.filter((word) => !word.includes('=')).map((word) => (word === 'PROMPT' ? PROMPT : word));
    const token = this.#token && { POLIS_TOKEN: this.#token };
    const environment = {
      ...this.environment,
      ...refusingProxy(url),
      ...modelEnvironment(url),
      ...Object.fromEntries(variables),
      ...token,
    };
    const [program, ...interpreterArgs] = command;
    const child = this.#spawn(program, [...interpreterArgs, ...args], environment);
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (this.output += part));

    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup(child);
    }, CLIENT_TIMEOUT_MS);
    // `close`, unlike `exit`, is emitted after all output has been read.
    const status = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(code ?? signal));
    });
    clearTimeout(timer);
    if (this.model.failure) throw this.model.failure;
    this.check(!timedOut, 'the client, or a process that holds its output open, was still running after', CLIENT_TIMEOUT_MS / 1000, 's');
    this.checkEqual(status, 0, 'exit status of the client');
  }

  /** Waits until the client's processes have exited; returns the command lines of those that have not. */
  async remainingProcesses() {
    const own = new Set(this.#children.map((child) => child.pid));
    const deadline = Date.now() + PROCESS_TIMEOUT_MS;
    for (;;) {
      const remaining = this.#processes().filter(({ pid }) => !own.has(pid));
      if (remaining.length === 0 || Date.now() > deadline) return remaining.map(({ line }) => line);
      await delay(50);
    }
  }

  /** Kills remaining processes and removes the directory. */
  close() {
    this.model?.close();
    for (const child of this.#children) killGroup(child);
    for (const { pid } of this.#processes()) kill(pid);
    // The project may be in the user's own list of trusted projects: some clients start servers without the environment.
    spawnSync(this.program, ['trust', '--remove', this.project], { env: this.environment, stdio: 'ignore' });
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  /** Returns the processes of this session, identified by their `HOME`. */
  #processes() {
    const found = [];
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const [environment, line] = ['environ', 'cmdline'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
        if (!environment.split('\0').includes(`HOME=${this.home}`)) continue;
        found.push({ pid: Number(pid), line: line.replaceAll('\0', ' ').trim() });
      } catch {
        // The process has exited, or belongs to another user.
      }
    }
    return found;
  }

  /** Runs a program, which must succeed; returns its output. */
  #run(program, args) {
    const options = { cwd: this.project, env: this.environment, encoding: 'utf8', timeout: PROCESS_TIMEOUT_MS };
    const { status, stdout, stderr, error } = spawnSync(program, args, options);
    if (error) throw error;
    if (status !== 0) throw new Error(`${path.basename(program)} ${args.join(' ')} exited with ${status}: ${stderr}`);
    return stdout;
  }

  /** Starts a program in a new process group, so that its child processes can be killed with it. */
  #spawn(program, args, environment) {
    const options = { cwd: this.project, env: environment, stdio: ['ignore', 'pipe', 'pipe'], detached: true };
    const child = spawn(program, args, options);
    this.#children.push(child);
    return child;
  }

  /** Appends to a file in the project, or in the home directory if its name starts with `~/`. */
  #append(file, text) {
    const target = file.startsWith('~/') ? path.join(this.home, file.slice(2)) : path.join(this.project, file);
    mkdirSync(path.dirname(target), { recursive: true });
    appendFileSync(target, text);
  }
}

/** Returns proxy variables that send every request except those to loopback to this address, which refuses them. */
function refusingProxy(url) {
  const variables = { HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NO_PROXY: '127.0.0.1,localhost' };
  const lowercase = Object.entries(variables).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...variables, ...Object.fromEntries(lowercase) };
}

function killGroup(child) {
  if (child.pid !== undefined) kill(-child.pid);
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has exited.
  }
}
