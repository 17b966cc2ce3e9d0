// A loopback proxy between the MCP conformance suite and `polis serve`. It works around three properties of the suite:
// (1) The suite cannot send a token. The proxy adds one.
// (2) The suite uses tools, prompts and resources that only test servers have. The proxy replaces their names with real
//     ones (stand_ins.json), so that the suite checks real responses against the specification.
// (3) The suite requires a tool that closes its own stream before the result, to test resumption. For a stand-in with
//     `disconnects`, the proxy closes the connection to polis after the first event, and the connection to the suite
//     after the command has ended, so that the result becomes available while the client is disconnected.
// All other traffic passes unchanged, including `Host` and `Origin`, which polis itself must check.
//
//   stand_in_proxy.mjs PORT TARGET STAND_INS     the token is in POLIS_TOKEN

import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout } from 'node:timers/promises';

const [port, target, standInsFile] = process.argv.slice(2);
const { hostname, port: targetPort } = new URL(target);
const standIns = JSON.parse(readFileSync(standInsFile, 'utf8'));
const token = process.env.POLIS_TOKEN;

/** Returns the command of a request whose stream is to be interrupted, otherwise undefined. */
function commandToInterrupt(message) {
  const standIn = message?.method === 'tools/call' ? standIns.tools[message.params?.name] : undefined;
  return standIn?.disconnects ? standIn.arguments.command : undefined;
}

/** Replaces the suite's names in a request, and in its `Mcp-Name` header, with those of polis; returns the request. */
function withStandIns(message, headers) {
  const params = message?.params;
  const named = (name) => {
    if (headers['mcp-name'] !== undefined) headers['mcp-name'] = name;
    return name;
  };
  switch (message?.method) {
    case 'tools/call': {
      const ours = standIns.tools[params?.name];
      if (ours) Object.assign(params, { name: named(ours.name), arguments: ours.arguments });
      break;
    }
    case 'prompts/get': {
      const ours = standIns.prompts[params?.name];
      if (!ours) break;
      params.name = named(ours.name);
      const renamed = Object.entries(params.arguments ?? {}).map(([name, value]) => [ours.rename?.[name] ?? name, value]);
      params.arguments = { ...Object.fromEntries(renamed), ...ours.arguments };
      break;
    }
    case 'completion/complete': {
      const ours = standIns.prompts[params?.ref?.name];
      if (!ours) break;
      params.ref.name = ours.name;
      params.argument.name = ours.rename?.[params.argument.name] ?? params.argument.name;
      break;
    }
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe': {
      const ours = standIns.resources[params?.uri];
      if (ours) params.uri = named(ours);
      break;
    }
  }
  return message;
}

function parseJson(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // Deliberately malformed; polis must reject it.
  }
}

/** Waits until a command has ended, for at most a minute. */
async function waitForCommandEnd(line) {
  const headers = { authorization: `Bearer ${token}` };
  for (let tries = 0; tries < 600; tries++) {
    const { commands } = await (await fetch(`${target}/v1/commands`, { headers })).json();
    if (commands?.some(({ command, running }) => command === line && !running)) return;
    await setTimeout(100);
  }
  throw new Error(`The command did not end: ${line}`);
}

/** Forwards the first event of a stream, then closes both connections. */
function interruptStream(line, answer, upstream, response) {
  let received = '';
  answer.setEncoding('utf8');
  answer.on('data', (part) => {
    received += part;
    const end = received.indexOf('\n\n');
    if (end < 0 || upstream.destroyed) return;
    upstream.destroy();
    waitForCommandEnd(line).then(
      () => response.end(received.slice(0, end + 2)),
      () => response.destroy(),
    );
  });
  answer.on('error', () => {}); // The connection was closed on purpose.
}

http
  .createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const headers = { ...request.headers, authorization: `Bearer ${token}` };
      delete headers['transfer-encoding'];
      const received = Buffer.concat(parts);
      const message = parseJson(received);
      const interrupted = commandToInterrupt(message);
      const body = message === undefined ? received : Buffer.from(JSON.stringify(withStandIns(message, headers)));
      if (body.length > 0) headers['content-length'] = body.length;
      const upstream = http.request(
        { host: hostname, port: targetPort, method: request.method, path: request.url, headers },
        (answer) => {
          response.writeHead(answer.statusCode, answer.headers);
          if (interrupted) interruptStream(interrupted, answer, upstream, response);
          else answer.pipe(response);
        },
      );
      upstream.on('error', () => response.destroy());
      // Forward a disconnect of the client, because it cancels a stateless call.
      response.on('close', () => upstream.destroy());
      upstream.end(body);
    });
  })
  .listen(Number(port), '127.0.0.1');

// Exit with status 0 on SIGTERM; the calling script treats any other status as a failure.
process.on('SIGTERM', () => process.exit(0));
