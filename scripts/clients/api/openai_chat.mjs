// The OpenAI chat completions API, as opencode uses it: requests in, scripted streaming responses out.

import { sendEvents } from './server_sent_events.mjs';

export const openaiChat = {
  isTurn: (path) => path === '/v1/chat/completions',

  auxiliary: () => undefined,

  read(body) {
    const content = (message) =>
      typeof message.content === 'string' ? message.content : (message.content ?? []).map((part) => part.text ?? '').join('\n');
    return {
      tools: (body.tools ?? []).map((tool) => tool.function.name),
      texts: body.messages.filter((message) => message.role !== 'tool').map(content),
      results: body.messages.filter((message) => message.role === 'tool').map(content),
    };
  },

  respond(response, _request, body, { call, text }) {
    const json = call && JSON.stringify(call.arguments);
    const deltas = call
      ? [
          {
            role: 'assistant',
            tool_calls: [{ index: 0, id: call.id, type: 'function', function: { name: call.name, arguments: json.slice(0, 5) } }],
          },
          { tool_calls: [{ index: 0, function: { arguments: json.slice(5) } }] },
        ]
      : [{ role: 'assistant', content: text }];
    const chunk = (delta, finish_reason = null) => ({
      data: {
        id: 'chatcmpl-scripted',
        object: 'chat.completion.chunk',
        created: 0,
        model: body.model,
        choices: [{ index: 0, delta, finish_reason }],
      },
    });
    const usage = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 };
    const last = { data: { ...chunk({}).data, choices: [], usage } };
    sendEvents(response, [...deltas.map((delta) => chunk(delta)), chunk({}, call ? 'tool_calls' : 'stop'), last, { data: '[DONE]' }]);
  },
};
