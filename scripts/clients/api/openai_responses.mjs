// The OpenAI Responses API, as Codex uses it: requests in, scripted streaming responses out.

import { named, sendEvents } from './server_sent_events.mjs';

export const openaiResponses = {
  isTurn: (path) => path === '/v1/responses',

  auxiliary: (path) => (path === '/v1/models' ? { object: 'list', data: [], models: [] } : undefined),

  /** The tools of an MCP server are in a namespace named after the server: `mcp__polis/TaskList`. */
  read(body) {
    const tools = (body.tools ?? []).flatMap((tool) =>
      tool.type === 'namespace' ? tool.tools.map((inner) => `${tool.name}/${inner.name}`) : [tool.name ?? tool.type],
    );
    const descriptions = (body.tools ?? []).map((tool) => tool.description ?? '');
    const messages = body.input.filter((item) => item.type === 'message').flatMap((item) => item.content);
    const results = body.input.filter((item) => item.type === 'function_call_output');
    return {
      tools,
      texts: [body.instructions ?? '', ...descriptions, ...messages.map((part) => part.text ?? '')],
      results: results.map(({ output }) => (typeof output === 'string' ? output : output.map((part) => part.text ?? '').join('\n'))),
    };
  },

  respond(response, _request, _body, { call, text }) {
    const [namespace, name] = call ? call.name.split('/') : [];
    const item = call
      ? {
          type: 'function_call',
          id: `fc_${call.id}`,
          call_id: call.id,
          namespace,
          name,
          arguments: JSON.stringify(call.arguments),
          status: 'completed',
        }
      : {
          type: 'message',
          id: 'msg_scripted',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text, annotations: [] }],
        };
    const usage = {
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 1010,
    };
    const created = { id: 'resp_scripted', object: 'response', status: 'in_progress', output: [] };
    const events = [
      { type: 'response.created', response: created },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { ...created, status: 'completed', output: [item], usage } },
    ];
    sendEvents(response, events.map(named));
  },
};
