// The Anthropic Messages API, as Claude Code uses it: requests in, scripted streaming responses out.

import { named, sendEvents } from './server_sent_events.mjs';

export const anthropicMessages = {
  /** Returns whether a request asks the model for its next message. */
  isTurn: (path) => path === '/v1/messages',

  /** Returns the response to a request outside the conversation, or undefined if the path is none of these. */
  auxiliary: (path) => (path === '/v1/messages/count_tokens' ? { input_tokens: 1000 } : undefined),

  /** Returns the tools that a request offers, its texts, and the results of all calls so far, in order. */
  read(body) {
    const texts = [...blocks(body.system), ...body.messages.flatMap((message) => blocks(message.content))];
    const announced = body.messages.filter((message) => message.role === 'system').flatMap((message) => deferredTools(message));
    const results = body.messages.flatMap((message) => blocks(message.content)).filter((block) => block.type === 'tool_result');
    return {
      tools: [...(body.tools ?? []).map((tool) => tool.name), ...announced],
      texts: texts.filter((block) => block.type === 'text').map((block) => block.text),
      results: results.map((block) =>
        blocks(block.content)
          .map((part) => part.text ?? JSON.stringify(part))
          .join('\n'),
      ),
    };
  },

  /** Writes a response with a tool call or a text. */
  respond(response, _request, body, { call, text }) {
    const block = call ? { type: 'tool_use', id: call.id, name: call.name, input: {} } : { type: 'text', text: '' };
    const json = call && JSON.stringify(call.arguments);
    const deltas = call
      ? [json.slice(0, 5), json.slice(5)].map((part) => ({ type: 'input_json_delta', partial_json: part }))
      : [{ type: 'text_delta', text }];
    const message = {
      id: 'msg_scripted',
      type: 'message',
      role: 'assistant',
      model: body.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
    };
    const events = [
      { type: 'message_start', message: { ...message, usage: { input_tokens: 1000, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null }, usage: { output_tokens: 10 } },
      { type: 'message_stop' },
    ];
    sendEvents(response, events.map(named));
  },
};

/** Returns content as a list of blocks; a plain string is one block of text. */
function blocks(content) {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
}

/** Returns the names of deferred tools: a message lists them, and their schemas follow only after a tool search. */
function deferredTools(message) {
  const announcements = blocks(message.content).filter((block) => block.text?.includes('deferred tools are now available'));
  return announcements.flatMap((block) => block.text.match(/^mcp__\w+$/gm) ?? []);
}
