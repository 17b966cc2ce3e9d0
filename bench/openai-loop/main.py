"""The same requests in a bare loop of the official `openai` client. Nothing is kept, the tool does nothing."""

import asyncio
import json
import resource
import sys
import time

from openai import AsyncOpenAI


async def one(client, first, n):
    messages = json.loads(json.dumps(first["messages"]))
    after = messages.pop()
    for message in messages:
        if isinstance(message.get("content"), str):
            message["content"] = message["content"].replace("worker-0", f"worker-{n}")
    turns = 0
    while True:
        stream = await client.chat.completions.create(
            model=first["model"],
            messages=messages + [after],
            tools=first["tools"],
            stream=True,
            stream_options={"include_usage": True},
        )
        call, arguments, content = None, "", ""
        async for chunk in stream:
            if not chunk.choices:
                continue
            delta = chunk.choices[0].delta
            content += delta.content or ""
            for part in delta.tool_calls or []:
                if part.id:
                    call = part
                if part.function and part.function.arguments:
                    arguments += part.function.arguments
        turns += 1
        if call is None:
            return turns
        function = {"name": call.function.name, "arguments": arguments}
        calls = [{"id": call.id, "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": content, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": call.id, "content": '{"ok":true}'})


async def main(base, first, agents):
    # It waits by itself when it is refused; where nothing is refused this changes nothing.
    client = AsyncOpenAI(base_url=base, api_key="none", max_retries=100)
    begun, cpu = time.monotonic(), spent()
    turns = sum(await asyncio.gather(*(one(client, first, n) for n in range(agents))))
    print(json.dumps({"turns": turns, "wall": time.monotonic() - begun, "cpu": spent() - cpu}))


def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


asyncio.run(main(sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3])))
