"""Interoperability test with the official Python SDK, over stdio and HTTP, with every supported protocol revision.

Uses polis as an agent's client would and checks every response: tools and their schemas, a task from creation to
completion, refusals, a stale write, resources and subscriptions, prompts, completion, progress and cancellation.
Other tests cover performance and authorization.

    python_session.py POLIS DIR [URL]      for the URL, POLIS_TOKEN is the token of `alice`
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import traceback
import warnings

import anyio
import httpx2
import mcp.client.session as sdk_session
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.types import PromptReference, ResourceTemplateReference

AGENT = "alice"
BOARD = "top"
BOARD_URI = "polis://board/top"

# Tool names are a public interface. These are the ones that docs/requirements.md lists.
READ_ONLY = {"TaskGet", "TaskList", "whiteboard_read", "blackboard_read", "read_file", "list_files", "get_workspace_info"}
# Not destructive: previous states stay available in a history.
NON_DESTRUCTIVE = {"TaskCreate", "TaskClaim", "TaskUpdate", "whiteboard_append", "whiteboard_write", "whiteboard_section", "blackboard_write", "send_message"}
DESTRUCTIVE = {"write_file", "edit_file", "run_command"}
WRITING = NON_DESTRUCTIVE | DESTRUCTIVE

# Generous enough for a loaded machine. A failure ends in this timeout instead of a hang.
TIMEOUT_SECONDS = 20


class Session:
    """One connected client, the number of checks made with it, and the notifications it has received."""

    def __init__(self, name, client, polis, directory, notifications):
        self.name, self.client, self.polis, self.directory, self.notifications = name, client, polis, directory, notifications
        self.checks = 0
        self.modern = client.protocol_version >= "2026"

    def check(self, condition, *message):
        self.checks += 1
        if not condition:
            raise AssertionError(f"{self.name}: {' '.join(str(part) for part in message)}")

    def equal(self, actual, expected, subject):
        self.check(actual == expected, f"{subject}: {actual!r} instead of {expected!r}")

    async def call(self, tool, **arguments):
        """Calls a tool, which must succeed. Returns its structured content."""
        result = await self.client.call_tool(tool, arguments)
        self.check(not result.is_error, tool, "was refused:", result.content)
        self.check(isinstance(result.structured_content, dict), tool, "has no structured content")
        self.check(result.content and result.content[0].type == "text" and result.content[0].text, tool, "has no text")
        return result.structured_content

    async def refused(self, code, tool, **arguments):
        """Calls a tool, which must be refused with this code and a next step for the model."""
        result = await self.client.call_tool(tool, arguments)
        self.check(result.is_error, tool, arguments, "was not refused:", result.structured_content)
        # Structured content would have to match the tool's output schema, which an error does not.
        self.check(result.structured_content is None, tool, "has structured content in addition to its error:", result)
        text = result.content[0].text
        self.check(text.startswith(f"{code}: "), tool, "should be refused with", code, "instead of", text)
        self.check("\nNext: " in text, tool, "names no next step:", text)
        self.check(str(self.directory) not in text, tool, "shows the host's path")

    def cli(self, *arguments):
        """Runs a polis command in another process, on the same directory. Returns its JSON output."""
        completed = subprocess.run([self.polis, "--dir", self.directory, "--as", AGENT, "--json", *arguments], capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        self.check(completed.returncode == 0, arguments, completed.stderr)
        return json.loads(completed.stdout)

    async def all_pages(self, list_page, field):
        """Returns all items of a paginated list."""
        items, cursor = [], None
        for _ in range(1000):
            page = await list_page(cursor=cursor)
            items += getattr(page, field)
            cursor = page.next_cursor
            if not cursor:
                return items
        raise AssertionError(f"{self.name}: the pages of {field} never end")


async def check_server_info(s):
    client = s.client
    s.equal(client.server_info.name, "polis", "the server's name")
    s.check(client.server_info.version, "no version")
    s.check(client.instructions, "no instructions")
    capabilities = client.server_capabilities
    s.check(capabilities.tools is not None and capabilities.prompts is not None and capabilities.completions is not None, "capabilities:", capabilities)
    resources = capabilities.resources
    s.check(resources is not None and resources.subscribe and resources.list_changed, "resources:", resources)


async def check_tools(s):
    listed = await s.all_pages(s.client.list_tools, "tools")
    names = {tool.name for tool in listed}
    s.equal(len(names), len(listed), "names")
    s.check(READ_ONLY | WRITING <= names, "missing tools:", (READ_ONLY | WRITING) - names)
    for tool in listed:
        s.check(tool.description, tool.name, "has no description")
        s.equal(tool.input_schema.get("type"), "object", f"{tool.name}'s input")
        s.check(tool.output_schema and tool.output_schema.get("type") == "object", tool.name, "output:", tool.output_schema)
        hints = tool.annotations
        for hint in (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint):
            s.check(hint is not None, tool.name, "lacks a hint:", hints)
        # Commands have no network here.
        s.equal(hints.open_world_hint, False, f"{tool.name} open world")
        if tool.name in READ_ONLY | WRITING:
            s.equal(hints.read_only_hint, tool.name in READ_ONLY, f"{tool.name} read-only")
            s.equal(hints.destructive_hint, tool.name in DESTRUCTIVE, f"{tool.name} destructive")
    again = await s.client.session.list_tools()
    s.equal([tool.name for tool in again.tools], [tool.name for tool in listed[: len(again.tools)]], "order")


async def check_task_lifecycle(s):
    created = await s.call("TaskCreate", subject=f"Session over {s.name}", description="From the Python SDK.")
    task = created["id"]
    s.equal((created["status"], created["owner"]), ("pending", ""), "a new task")
    claimed = await s.call("TaskClaim", taskId=task)
    s.equal((claimed["status"], claimed["owner"]), ("in_progress", AGENT), "a claimed task")
    s.check(claimed["version"] > created["version"], "the version did not increase")
    # Another process sees the claim, and this session sees that process's change.
    s.equal(s.cli("task", "get", task)["owner"], AGENT, "the owner according to the CLI")
    s.cli("task", "update", task, "--subject", "Renamed elsewhere")
    s.equal((await s.call("TaskGet", taskId=task))["subject"], "Renamed elsewhere", "the new subject")
    completed = await s.call("TaskUpdate", taskId=task, status="completed")
    s.equal(completed["status"], "completed", "the final status")
    page = await s.call("TaskList", limit=1)
    s.equal(len(page["tasks"]), 1, "a page with limit 1")
    return task


async def check_refusals(s, task):
    await s.refused("task_not_found", "TaskGet", taskId="999999999")
    await s.refused("invalid_transition", "TaskUpdate", taskId=task, status="pending")
    # Arguments that violate the schema are refusals too, not protocol errors, so that the model can correct them.
    await s.refused("invalid_status", "TaskUpdate", taskId=task, status="no such status")
    await s.refused("invalid_input", "TaskCreate")
    try:
        result = await s.client.call_tool("no_such_tool", {})
        s.check(result.is_error, "a call of an unknown tool succeeded:", result)
    except MCPError as error:
        s.equal(error.code, -32602, "error code of an unknown tool")


async def check_whiteboard(s):
    before = await s.call("whiteboard_read", board=BOARD)
    text = f"# Top\n\nBy the session over {s.name}.\n"
    written = await s.call("whiteboard_write", board=BOARD, content=text, expectedVersion=before["version"])
    s.check(written["version"] > before["version"], "the version did not increase:", written)
    await s.refused("version_conflict", "whiteboard_write", board=BOARD, content="lost", expectedVersion=before["version"])
    await s.refused("permission_denied", "whiteboard_write", board="mid/backend-leader", content="not mine")
    after = await s.call("whiteboard_read", board=BOARD)
    s.equal((after["version"], after["content"]), (written["version"], text), "the board")
    return text


async def check_resources(s, task, text):
    listed = {str(resource.uri): resource for resource in await s.all_pages(s.client.list_resources, "resources")}
    s.check(BOARD_URI in listed, "the board is not among", sorted(listed)[:20])
    templates = [template.uri_template for template in await s.all_pages(s.client.list_resource_templates, "resource_templates")]
    s.check(any("task/{" in template for template in templates), "no task template in", templates)
    board = (await s.client.read_resource(BOARD_URI)).contents
    s.equal((len(board), board[0].text, str(board[0].uri)), (1, text, BOARD_URI), "the board's content")
    s.equal(board[0].mime_type, "text/markdown", "the board's MIME type")
    s.check(task in (await s.client.read_resource(f"polis://task/{task}")).contents[0].text, "the task's resource lacks its number")
    for unknown in ("polis://task/999999999", "polis://nowhere/1", "test://else"):
        try:
            result = await s.client.read_resource(unknown)
            s.check(False, "reading the unknown resource", unknown, "succeeded:", result)
        except MCPError as error:
            s.equal(error.code, -32602 if s.modern else -32002, f"error code of {unknown}")
    return templates


async def check_subscriptions(s, task):
    subscribed = [BOARD_URI, f"polis://task/{task}"]
    if s.modern:
        with anyio.fail_after(TIMEOUT_SECONDS):
            async with s.client.listen(resource_subscriptions=subscribed, resources_list_changed=True) as stream:
                s.equal(sorted(stream.honored.resource_subscriptions), sorted(subscribed), "subscriptions")
                await check_notifications(s, task, lambda expected: wait_for_stream_event(stream, expected))
        return
    for uri in subscribed:
        await s.client.subscribe_resource(uri)

    async def wait_for(expected):
        while expected not in s.notifications:
            await anyio.sleep(0.01)
        s.notifications.remove(expected)

    with anyio.fail_after(TIMEOUT_SECONDS):
        await check_notifications(s, task, wait_for)
    await s.client.unsubscribe_resource(BOARD_URI)
    s.notifications.clear()
    await s.call("whiteboard_append", board=BOARD, content="\nUnheard.\n")
    s.cli("task", "comment", task, "--content", "heard after the board")
    with anyio.fail_after(TIMEOUT_SECONDS):
        await wait_for(ResourceUpdated(uri=subscribed[1]))
    s.check(ResourceUpdated(uri=BOARD_URI) not in s.notifications, "notified about a board after unsubscribing")


async def wait_for_stream_event(stream, expected):
    async for event in stream:
        if event == expected:
            return
    raise AssertionError(f"the stream ended before {expected}")


async def check_notifications(s, task, wait_for):
    """Makes changes in this session and in another process; `wait_for` waits for the notification of each."""
    await s.call("whiteboard_append", board=BOARD, content="\nHeard.\n")
    await wait_for(ResourceUpdated(uri=BOARD_URI))
    s.cli("board", "append", BOARD, "--content", "\nHeard from elsewhere.\n")
    await wait_for(ResourceUpdated(uri=BOARD_URI))
    s.cli("task", "comment", task, "--content", "heard")
    await wait_for(ResourceUpdated(uri=f"polis://task/{task}"))
    s.cli("task", "create", "--subject", "One more resource")
    await wait_for(ResourcesListChanged())
    s.checks += 4


async def check_prompts(s, task, templates):
    listed = await s.all_pages(s.client.list_prompts, "prompts")
    s.check(len(listed) >= 3, "prompts:", [prompt.name for prompt in listed])
    for prompt in listed:
        s.check(prompt.description, prompt.name, "has no description")
        required = {argument.name: task for argument in prompt.arguments or [] if argument.required}
        result = await s.client.get_prompt(prompt.name, required)
        s.check(result.messages and all(message.content.text for message in result.messages if message.content.type == "text"), prompt.name, "is empty")
        for argument in prompt.arguments or []:
            values = (await s.client.complete(PromptReference(type="ref/prompt", name=prompt.name), {"name": argument.name, "value": ""})).completion.values
            s.check(len(values) <= 100, prompt.name, argument.name, "has too many completions:", len(values))
    try:
        result = await s.client.get_prompt("no_such_prompt")
        s.check(False, "a request for an unknown prompt succeeded:", result)
    except MCPError as error:
        s.equal(error.code, -32602, "error code of an unknown prompt")
    task_template = next(template for template in templates if "task/{" in template)
    variable = task_template.split("{")[1].split("}")[0].lstrip("+")
    # Completion offers open tasks, by number and by title.
    title = f"To be found over {s.name}"
    open_task = (await s.call("TaskCreate", subject=title))["id"]
    for typed in (open_task, title):
        values = (await s.client.complete(ResourceTemplateReference(type="ref/resource", uri=task_template), {"name": variable, "value": typed})).completion.values
        s.check(open_task in values, "completing", typed, "gives", values)


async def check_commands(s):
    steps = []

    async def progress(done, total, message):
        steps.append(done)

    result = await s.client.call_tool("run_command", {"command": "for i in 1 2 3; do echo step $i; sleep 0.4; done"}, progress_callback=progress)
    s.check(not result.is_error, "the command was refused:", result.content)
    s.equal((result.structured_content["exitCode"], result.structured_content["stdout"]), (0, "step 1\nstep 2\nstep 3\n"), "the command's result")
    s.check(steps and steps == sorted(set(steps)), "progress:", steps)

    # Cancelling a call kills the whole process tree of its command: the shell and its background child.
    marker = f"3600.{os.getpid()}{time.monotonic_ns() % 10**9}"
    async with anyio.create_task_group() as group:
        group.start_soon(s.client.call_tool, "run_command", {"command": f"sleep {marker} & wait"})
        await wait_until(lambda: is_running(marker))
        group.cancel_scope.cancel()
    s.check(True)
    await wait_until(lambda: not is_running(marker))
    s.equal((await s.call("run_command", command="echo still here"))["stdout"], "still here\n", "the next command")


def is_running(marker):
    """Returns whether a process with this argument is running."""
    for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in process.read_bytes():
                return True
        except OSError:
            continue
    return False


async def wait_until(condition):
    with anyio.fail_after(TIMEOUT_SECONDS):
        while not condition():
            await anyio.sleep(0.02)


async def run_session(name, transport, mode, version, polis, directory):
    notifications = []

    async def record_notification(message):
        method = getattr(message, "method", "")
        if method == "notifications/resources/updated":
            notifications.append(ResourceUpdated(uri=str(message.params.uri)))
        elif method == "notifications/resources/list_changed":
            notifications.append(ResourcesListChanged())

    # The SDK always offers its newest version in the handshake and has no setting for an older one.
    if version < "2026":
        sdk_session.LATEST_HANDSHAKE_VERSION = version
    async with Client(transport, mode=mode, message_handler=record_notification, cache=None, read_timeout_seconds=TIMEOUT_SECONDS) as client:
        s = Session(f"{name} {version}", client, polis, directory, notifications)
        s.equal(client.protocol_version, version, "the protocol version")
        await check_server_info(s)
        await check_tools(s)
        task = await check_task_lifecycle(s)
        await check_refusals(s, task)
        text = await check_whiteboard(s)
        templates = await check_resources(s, task, text)
        await check_subscriptions(s, task)
        await check_prompts(s, task, templates)
        await check_commands(s)
    print(f"  {s.name}: {s.checks} checks")


PROTOCOLS = [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("legacy", "2025-06-18")]


async def main(polis, directory, url=None):
    for mode, version in PROTOCOLS:
        server = StdioServerParameters(command=polis, args=["mcp", "--agent", AGENT, "--dir", directory, "--tools", "all"], cwd="/")
        await run_session("stdio", stdio_client(server), mode, version, polis, directory)
    for mode, version in PROTOCOLS if url else []:
        headers = {"Authorization": f"Bearer {os.environ['POLIS_TOKEN']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(TIMEOUT_SECONDS, read=None)) as http:
            transport = streamable_http_client(f"{url}/mcp?tools=all", http_client=http)
            await run_session("http", transport, mode, version, polis, directory)


def leaf_exceptions(error):
    """Yields the exceptions inside the (nested) exception groups that the SDK's task groups raise."""
    nested = getattr(error, "exceptions", None)
    for inner in nested or []:
        yield from leaf_exceptions(inner)
    if nested is None:
        yield error


if __name__ == "__main__":
    # The SDK warns about old protocol revisions, which are tested here on purpose.
    warnings.simplefilter("ignore")
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    try:
        anyio.run(main, *sys.argv[1:])
    except BaseException as error:
        for cause in leaf_exceptions(error):
            print(f"{type(cause).__name__}: {cause}", file=sys.stderr)
            for frame in traceback.extract_tb(cause.__traceback__):
                if frame.filename == __file__:
                    print(f"  line {frame.lineno}: {frame.line}", file=sys.stderr)
        sys.exit(1)
