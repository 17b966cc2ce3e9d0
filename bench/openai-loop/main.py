"""Baseline for the society benchmark: sends the same requests in a plain loop of the official `openai` client.

It persists nothing, and its tool is a no-op.
"""

import asyncio
import json
import resource
import sys
import time

from openai import AsyncOpenAI


async def run_agent(client, first_request, n):
    """Runs one agent until the model stops calling tools; returns the number of turns."""
    messages = json.loads(json.dumps(first_request["messages"]))
    last_message = messages.pop()
    for message in messages:
        if isinstance(message.get("content"), str):
            message["content"] = message["content"].replace("worker-0", f"worker-{n}")
    turns = 0
    while True:
        stream = await client.chat.completions.create(
            model=first_request["model"],
            messages=messages + [last_message],
            tools=first_request["tools"],
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


async def main(base_url, first_request, agents):
    # The client backs off and retries on 429. Without rate limits this setting has no effect.
    client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=100)
    started, cpu_before = time.monotonic(), cpu_seconds()
    turns = sum(await asyncio.gather(*(run_agent(client, first_request, n) for n in range(agents))))
    print(json.dumps({"turns": turns, "wall": time.monotonic() - started, "cpu": cpu_seconds() - cpu_before}))


def cpu_seconds():
    """Returns the CPU time (user and system) of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


asyncio.run(main(sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3])))
