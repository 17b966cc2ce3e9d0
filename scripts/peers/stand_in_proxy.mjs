// A loopback proxy between the MCP conformance suite and `polis serve`, because the suite
// (1) cannot send a token: the proxy adds one, and
// (2) asks for tools, prompts and resources that only test servers have: the proxy lets real ones stand in
//     for them (stand_ins.json), so that real answers are held against the specification.
// Everything else passes unchanged both ways, `Host` and `Origin` included: those are for polis to refuse.
//
//   stand_in_proxy.mjs PORT TARGET STAND_INS     token in POLIS_TOKEN

import { readFileSync } from 'node:fs';
import http from 'node:http';

const [port, target, standInsFile] = process.argv.slice(2);
const { hostname, port: targetPort } = new URL(target);
const standIns = JSON.parse(readFileSync(standInsFile, 'utf8'));
const token = process.env.POLIS_TOKEN;

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

function rewritten(body, headers) {
  let message;
  try {
    message = JSON.parse(body);
  } catch {
    return body; // Broken on purpose, for polis to refuse.
  }
  return Buffer.from(JSON.stringify(withStandIns(message, headers)));
}

http
  .createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const headers = { ...request.headers, authorization: `Bearer ${token}` };
      delete headers['transfer-encoding'];
      const body = rewritten(Buffer.concat(parts), headers);
      if (body.length > 0) headers['content-length'] = body.length;
      const upstream = http.request(
        { host: hostname, port: targetPort, method: request.method, path: request.url, headers },
        (answer) => {
          response.writeHead(answer.statusCode, answer.headers);
          answer.pipe(response);
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
