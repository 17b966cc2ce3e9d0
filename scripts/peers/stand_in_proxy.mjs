// A loopback proxy between the MCP conformance suite and `polis serve`, because the suite
// (1) cannot send a token: the proxy adds one, and
// (2) asks for tools, prompts and resources that only test servers have: the proxy lets real ones stand in
//     for them (stand_ins.json), so that real answers are held against the specification, and
// (3) wants a tool that closes its own stream half-way, to see a client resume it: for a stand-in that `disconnects`
//     the proxy loses the connection to polis after the first event, and the suite's once the command has ended, so
//     that the answer became ready while the client was away.
// Everything else passes unchanged both ways, `Host` and `Origin` included: those are for polis to refuse.
//
//   stand_in_proxy.mjs PORT TARGET STAND_INS     token in POLIS_TOKEN

import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout } from 'node:timers/promises';

const [port, target, standInsFile] = process.argv.slice(2);
const { hostname, port: targetPort } = new URL(target);
const standIns = JSON.parse(readFileSync(standInsFile, 'utf8'));
const token = process.env.POLIS_TOKEN;

/** The command whose connection is lost on the way, if this request is to lose it. */
function disconnects(message) {
  const standIn = message?.method === 'tools/call' ? standIns.tools[message.params?.name] : undefined;
  return standIn?.disconnects ? standIn.arguments.command : undefined;
}

/** The request with our names instead of the suite's, and the `Mcp-Name` header that goes with it. */
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

function parsed(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // Broken on purpose, for polis to refuse.
  }
}

/** Waits until a command has run and ended, at most a minute. */
async function commandEnded(line) {
  const headers = { authorization: `Bearer ${token}` };
  for (let tries = 0; tries < 600; tries++) {
    const { commands } = await (await fetch(`${target}/v1/commands`, { headers })).json();
    if (commands?.some((one) => one.command === line && !one.running)) return;
    await setTimeout(100);
  }
  throw new Error(`The command did not end: ${line}`);
}

/** Passes on the first event of a stream, then loses the connections. */
function lose(line, answer, upstream, response) {
  let passed = '';
  answer.setEncoding('utf8');
  answer.on('data', (part) => {
    passed += part;
    const end = passed.indexOf('\n\n');
    if (end < 0 || upstream.destroyed) return;
    upstream.destroy();
    commandEnded(line).then(
      () => response.end(passed.slice(0, end + 2)),
      () => response.destroy(),
    );
  });
  answer.on('error', () => {}); // It was lost on purpose.
}

http
  .createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const headers = { ...request.headers, authorization: `Bearer ${token}` };
      delete headers['transfer-encoding'];
      const received = Buffer.concat(parts);
      const message = parsed(received);
      const lost = disconnects(message);
      const body = message === undefined ? received : Buffer.from(JSON.stringify(withStandIns(message, headers)));
      if (body.length > 0) headers['content-length'] = body.length;
      const upstream = http.request(
        { host: hostname, port: targetPort, method: request.method, path: request.url, headers },
        (answer) => {
          response.writeHead(answer.statusCode, answer.headers);
          if (lost) lose(lost, answer, upstream, response);
          else answer.pipe(response);
        },
      );
      upstream.on('error', () => response.destroy());
      // A client that leaves, leaves polis too: that is how stateless calls are cancelled.
      response.on('close', () => upstream.destroy());
      upstream.end(body);
    });
  })
  .listen(Number(port), '127.0.0.1');

// Asked to end, it ends in good order.
process.on('SIGTERM', () => process.exit(0));
