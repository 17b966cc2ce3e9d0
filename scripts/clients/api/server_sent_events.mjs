// Server-sent events, the streaming format of all four model APIs.

/** Writes events as one response and ends it. */
export function sendEvents(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  for (const { event, data } of events) {
    if (event) response.write(`event: ${event}\n`);
    response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  }
  response.end();
}

/** Returns data as an event named after its type. */
export function named(data) {
  return { event: data.type, data };
}
