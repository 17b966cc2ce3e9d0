// The Gemini API's generateContent, as Gemini CLI uses it: requests in, scripted responses out, streaming or not.

import { sendEvents } from './server_sent_events.mjs';

const STREAM = /^\/v1beta\/models\/[^/:]+:streamGenerateContent$/;
const GENERATE = /^\/v1beta\/models\/[^/:]+:generateContent$/;
const COUNT = /^\/v1beta\/models\/[^/:]+:countTokens$/;

export const geminiGenerate = {
  isTurn: (path) => STREAM.test(path) || GENERATE.test(path),

  auxiliary: (path) => (COUNT.test(path) ? { totalTokens: 1000 } : undefined),

  read(body) {
    const parts = body.contents.flatMap((content) => content.parts);
    const responses = parts.filter((part) => part.functionResponse).map((part) => part.functionResponse.response);
    return {
      tools: (body.tools ?? []).flatMap((tool) => (tool.functionDeclarations ?? []).map((declaration) => declaration.name)),
      texts: [...(body.systemInstruction?.parts ?? []), ...parts].map((part) => part.text ?? ''),
      results: responses.map((result) => result.output ?? result.error ?? JSON.stringify(result)),
    };
  },

  respond(response, path, _body, { call, text }) {
    const part = call ? { functionCall: { id: call.id, name: call.name, args: call.arguments } } : { text };
    const data = {
      candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 10, totalTokenCount: 1010 },
    };
    if (STREAM.test(path)) {
      sendEvents(response, [{ data }]);
    } else {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(data));
    }
  },
};
