// A scripted model: an HTTP server on loopback that implements the model API of a client and follows a script.
//
// It is also the client's HTTP proxy. The proxy refuses and records every request to another host.

import http from 'node:http';

/** Text of the scripted model after the last step of its script. */
export const FINAL_TEXT = 'All steps of the script are done.';

export class ModelServer {
  /** Requests of the conversation, as parsed by the API module: tools, texts and results. */
  turns = [];
  /** Tool calls of the model: tool, arguments, and the result as shown to the model. */
  steps = [];
  /** Requests to other hosts, and requests that the API module does not support. */
  outside = [];
  unknown = [];
  /** The error that stopped the script. */
  failure = undefined;

  #api;
  #script;
  #toolName;
  #prompt;
  #outputs = [];
  #queue = Promise.resolve();
  #server = http.createServer((request, response) => this.#handle(request, response));

  /**
   * @param api the model API, one of `api/*.mjs`
   * @param script an async generator that yields tool calls and receives the results as shown to the model
   * @param toolName the client's name for a tool of polis
   * @param prompt the text that distinguishes requests of the conversation from others, such as title generation
   */
  constructor({ api, script, toolName, prompt }) {
    this.#api = api;
    this.#script = script;
    this.#toolName = toolName;
    this.#prompt = prompt;
    this.#server.on('connect', (request, socket) => {
      this.outside.push(request.url);
      socket.on('error', () => {}); // The client may have disconnected.
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
  }

  /** Listens on a free loopback port; returns the URL. */
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
      // Requests are handled one at a time, because the script is sequential.
      this.#queue = this.#queue
        .then(() => this.#respond(request, Buffer.concat(parts).toString(), response))
        .catch((error) => {
          // The API module could not parse the request.
          this.failure ??= error;
          response.destroy();
        });
    });
    request.on('error', () => response.destroy());
  }

  async #respond(request, received, response) {
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

  /** Returns the next output of the model: a tool call, or the final text. */
  async #next(turn) {
    if (turn.tools.length === 0 || !turn.texts.some((text) => text.includes(this.#prompt))) return { text: 'Scripted' };
    this.turns.push(turn);
    const answered = turn.results.length;
    // A retried request gets the same response.
    if (answered < this.#outputs.length) return this.#outputs[answered];
    if (answered > 0) this.steps[answered - 1].seen = turn.results[answered - 1];
    const output = await this.#runStep(turn.results[answered - 1]);
    this.#outputs.push(output);
    return output;
  }

  async #runStep(seen) {
    if (this.failure) return { text: FINAL_TEXT };
    try {
      const { done, value: call } = await this.#script.next(seen);
      if (done) return { text: FINAL_TEXT };
      this.steps.push({ ...call });
      const name = call.ownTool ?? this.#toolName(call.tool);
      return { call: { id: `call_${this.steps.length}`, name, arguments: call.arguments } };
    } catch (error) {
      this.failure = error;
      return { text: 'The script has failed.' };
    }
  }
}
