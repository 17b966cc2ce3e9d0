// A scripted model: an HTTP server on loopback that speaks the model API of a client and plays a script.
//
// It is the client's HTTP proxy too, which refuses everything: a client that tries to reach another host is recorded.

import http from 'node:http';

/** What the scripted model says when its script has ended. */
export const LAST_WORDS = 'All steps of the script are done.';

export class ModelServer {
  /** Requests of the conversation, as the API module reads them: tools, texts and results. */
  turns = [];
  /** The calls that the model made: tool, arguments, and what it saw as the result. */
  steps = [];
  /** Requests for hosts other than this one, and requests that the API does not have. */
  outside = [];
  unknown = [];
  /** What ended the script early. */
  failure = undefined;

  #api;
  #script;
  #toolName;
  #prompt;
  #outputs = [];
  #queue = Promise.resolve();
  #server = http.createServer((request, response) => this.#handle(request, response));

  /**
   * @param api how requests and responses look, one of `api/*.mjs`
   * @param script an async generator that yields calls and receives the text the model saw
   * @param toolName the client's name for a tool of polis
   * @param prompt the text by which requests of the conversation are told from others, such as those for a title
   */
  constructor({ api, script, toolName, prompt }) {
    this.#api = api;
    this.#script = script;
    this.#toolName = toolName;
    this.#prompt = prompt;
    this.#server.on('connect', (request, socket) => {
      this.outside.push(request.url);
      socket.on('error', () => {}); // The client may be gone already.
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
  }

  /** Listens on a free port of loopback; returns its address. */
  async listen() {
    await new Promise((resolve, reject) => this.#server.once('error', reject).listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #handle(request, response) {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      // One at a time: a script has one next step.
      this.#queue = this.#queue
        .then(() => this.#answer(request, Buffer.concat(parts).toString(), response))
        .catch((error) => {
          // A request that the API module cannot read.
          this.failure ??= error;
          response.destroy();
        });
    });
    request.on('error', () => response.destroy());
  }

  async #answer(request, received, response) {
    const path = request.url.split('?')[0];
    const auxiliary = this.#api.auxiliary(path);
    if (request.url.startsWith('http:')) {
      this.outside.push(request.url);
    } else if (auxiliary !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify(auxiliary));
    } else if (request.method === 'POST' && this.#api.isTurn(path)) {
      const body = JSON.parse(received);
      return this.#api.respond(response, path, body, await this.#next(this.#api.read(body)));
    } else {
      this.unknown.push(`${request.method} ${request.url}`);
    }
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: 'not scripted' } }));
  }

  /** Returns what the model does next: a call, or a text at the end. */
  async #next(turn) {
    if (turn.tools.length === 0 || !turn.texts.some((text) => text.includes(this.#prompt))) return { text: 'Scripted' };
    this.turns.push(turn);
    const answered = turn.results.length;
    // A repeated request gets the same answer.
    if (answered < this.#outputs.length) return this.#outputs[answered];
    if (answered > 0) this.steps[answered - 1].seen = turn.results[answered - 1];
    const output = await this.#play(turn.results[answered - 1]);
    this.#outputs.push(output);
    return output;
  }

  async #play(seen) {
    if (this.failure) return { text: LAST_WORDS };
    try {
      const { done, value: call } = await this.#script.next(seen);
      if (done) return { text: LAST_WORDS };
      this.steps.push({ ...call });
      const name = call.ownTool ?? this.#toolName(call.tool);
      return { call: { id: `call_${this.steps.length}`, name, arguments: call.arguments } };
    } catch (error) {
      this.failure = error;
      return { text: 'The script has failed.' };
    }
  }
}
