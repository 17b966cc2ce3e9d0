// Reads the tools and instructions that polis offers to an agent over MCP, with the official SDK.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** Returns the names of the listed tools, and the instructions. */
export async function offeredByPolis(modules, { program, agent, project, environment }) {
  const require = createRequire(`${modules}/`);
  const load = (name) => import(pathToFileURL(require.resolve(name)));
  const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');
  const client = new Client({ name: 'polis-clients', version: '1' });
  const args = ['mcp', '--agent', agent, '--dir', project];
  await client.connect(new StdioClientTransport({ command: program, args, env: environment }));
  const { tools } = await client.listTools();
  const instructions = client.getInstructions();
  await client.close();
  return { tools: tools.map((tool) => tool.name), instructions };
}
