"""A session of the official Python SDK with polis, over stdio and over HTTP, in every era of the protocol.

It does what an agent's client does, and asserts each answer: tools with their schemas, a task from creation
to completion, refusals, a stale write, resources with subscriptions, prompts, completion, progress and
cancellation. How fast polis answers, and what others may not do, are questions for other tests.

    python_session.py POLIS DIR [URL]      the token of `alice` for the URL in POLIS_TOKEN
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

# Tool names are a promise to models: these are the ones the source documents name.
READING = {"TaskGet", "TaskList", "whiteboard_read", "blackboard_read", "read_file", "list_files", "get_workspace_info"}
# Nothing is lost by these: what they change stays in a history.
ADDING = {"TaskCreate", "TaskClaim", "TaskUpdate", "whiteboard_append", "whiteboard_write", "whiteboard_section", "blackboard_write", "send_message"}
DESTRUCTIVE = {"write_file", "edit_file", "run_command"}
CHANGING = ADDING | DESTRUCTIVE

# Long enough for a loaded machine; a fault shows as this timeout, never as a hang.
PATIENCE = 20


class Session:
    """One connected client, the number of assertions made with it, and what the server told it unasked."""

    def __init__(self, name, client, polis, directory, told):
        self.name, self.client, self.polis, self.directory, self.told = name, client, polis, directory, told
        self.checks = 0
        self.modern = client.protocol_version >= "2026"

    def check(self, truth, *what):
        self.checks += 1
        if not truth:
            raise AssertionError(f"{self.name}: {' '.join(str(part) for part in what)}")

    def equal(self, got, wanted, what):
        self.check(got == wanted, f"{what}: {got!r} instead of {wanted!r}")

    async def call(self, tool, **arguments):
        """A call that succeeds, with its structured content."""
        result = await self.client.call_tool(tool, arguments)
        self.check(not result.is_error, tool, "was refused:", result.content)
        self.check(isinstance(result.structured_content, dict), tool, "has no structured content")
        self.check(result.content and result.content[0].type == "text" and result.content[0].text, tool, "has no text")
        return result.structured_content

    async def refused(self, code, tool, **arguments):
        """A call that is refused with this code, in a way a model can act on."""
        result = await self.client.call_tool(tool, arguments)
        self.check(result.is_error, tool, arguments, "was not refused:", result.structured_content)
        # It would have to match the tool's output schema.
        self.check(result.structured_content is None, tool, "has structured content beside its error:", result)
        text = result.content[0].text
        self.check(text.startswith(f"{code}: "), tool, "should be refused with", code, "and says", text)
        self.check("\nNext: " in text, tool, "names no next step:", text)
        self.check(str(self.directory) not in text, tool, "shows the host's path")

    def cli(self, *arguments):
        """A command of another process on the same polis."""
        done = subprocess.run([self.polis, "--dir", self.directory, "--as", AGENT, "--json", *arguments], capture_output=True, text=True, timeout=PATIENCE)
        self.check(done.returncode == 0, arguments, done.stderr)
        return json.loads(done.stdout)

    async def all_pages(self, list_page, field):
        """Every item of a paged list."""
        items, cursor = [], None
        for _ in range(1000):
            page = await list_page(cursor=cursor)
            items += getattr(page, field)
            cursor = page.next_cursor
            if not cursor:
                return items
        raise AssertionError(f"{self.name}: {field} never end")


async def greeting(s):
    client = s.client
    s.equal(client.server_info.name, "polis", "the server's name")
    s.check(client.server_info.version, "no version")
    s.check(client.instructions, "no instructions")
    can = client.server_capabilities
    s.check(can.tools is not None and can.prompts is not None and can.completions is not None, "capabilities:", can)
    s.check(can.resources is not None and can.resources.subscribe and can.resources.list_changed, "resources:", can.resources)


async def tools(s):
    listed = await s.all_pages(s.client.list_tools, "tools")
    names = {tool.name for tool in listed}
    s.equal(len(names), len(listed), "names")
    s.check(READING | CHANGING <= names, "missing tools:", (READING | CHANGING) - names)
    for tool in listed:
        s.check(tool.description, tool.name, "has no description")
        s.equal(tool.input_schema.get("type"), "object", f"{tool.name}'s input")
        s.check(tool.output_schema and tool.output_schema.get("type") == "object", tool.name, "output:", tool.output_schema)
        hints = tool.annotations
        for hint in (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint):
            s.check(hint is not None, tool.name, "lacks a hint:", hints)
        # Commands have no network here.
        s.equal(hints.open_world_hint, False, f"{tool.name} open world")
        if tool.name in READING | CHANGING:
            s.equal(hints.read_only_hint, tool.name in READING, f"{tool.name} read-only")
            s.equal(hints.destructive_hint, tool.name in DESTRUCTIVE, f"{tool.name} destructive")
    again = await s.client.session.list_tools()
    s.equal([tool.name for tool in again.tools], [tool.name for tool in listed[: len(again.tools)]], "order")


async def one_task(s):
    made = await s.call("TaskCreate", subject=f"Session over {s.name}", description="From the Python SDK.")
    task = made["id"]
    s.equal((made["status"], made["owner"]), ("pending", ""), "a new task")
    claimed = await s.call("TaskClaim", taskId=task)
    s.equal((claimed["status"], claimed["owner"]), ("in_progress", AGENT), "a claimed task")
    s.check(claimed["version"] > made["version"], "the version did not grow")
    # Seen by another process, and its change seen here.
    s.equal(s.cli("task", "get", task)["owner"], AGENT, "the command line's owner")
    s.cli("task", "update", task, "--subject", "Renamed elsewhere")
    s.equal((await s.call("TaskGet", taskId=task))["subject"], "Renamed elsewhere", "the new subject")
    done = await s.call("TaskUpdate", taskId=task, status="completed")
    s.equal(done["status"], "completed", "the end")
    page = await s.call("TaskList", limit=1)
    s.equal(len(page["tasks"]), 1, "a page of one")
    return task


async def refusals(s, task):
    await s.refused("task_not_found", "TaskGet", taskId="999999999")
    await s.refused("invalid_transition", "TaskUpdate", taskId=task, status="pending")
    # Arguments that fit no schema are for the model to mend, so they are refusals too.
    await s.refused("invalid_status", "TaskUpdate", taskId=task, status="no such status")
    await s.refused("invalid_input", "TaskCreate")
    try:
        result = await s.client.call_tool("no_such_tool", {})
        s.check(result.is_error, "an unknown tool was called:", result)
    except MCPError as error:
        s.equal(error.code, -32602, "an unknown tool's code")


async def whiteboard(s):
    before = await s.call("whiteboard_read", board=BOARD)
    text = f"# Top\n\nBy the session over {s.name}.\n"
    written = await s.call("whiteboard_write", board=BOARD, content=text, expectedVersion=before["version"])
    s.check(written["version"] > before["version"], "the version did not grow:", written)
    await s.refused("version_conflict", "whiteboard_write", board=BOARD, content="lost", expectedVersion=before["version"])
    await s.refused("permission_denied", "whiteboard_write", board="mid/backend-leader", content="not mine")
    after = await s.call("whiteboard_read", board=BOARD)
    s.equal((after["version"], after["content"]), (written["version"], text), "the board")
    return text


async def resources(s, task, text):
    listed = {str(resource.uri): resource for resource in await s.all_pages(s.client.list_resources, "resources")}
    s.check(BOARD_URI in listed, "the board is not among", sorted(listed)[:20])
    templates = [template.uri_template for template in await s.all_pages(s.client.list_resource_templates, "resource_templates")]
    s.check(any("task/{" in template for template in templates), "no template of tasks in", templates)
    board = (await s.client.read_resource(BOARD_URI)).contents
    s.equal((len(board), board[0].text, str(board[0].uri)), (1, text, BOARD_URI), "the board's content")
    s.equal(board[0].mime_type, "text/markdown", "the board's type")
    s.check(task in (await s.client.read_resource(f"polis://task/{task}")).contents[0].text, "the task's resource")
    for unknown in ("polis://task/999999999", "polis://nowhere/1", "test://else"):
        try:
            got = await s.client.read_resource(unknown)
            s.check(False, unknown, "was read:", got)
        except MCPError as error:
            s.equal(error.code, -32602 if s.modern else -32002, f"code of {unknown}")
    return templates


async def subscriptions(s, task):
    watched = [BOARD_URI, f"polis://task/{task}"]
    if s.modern:
        with anyio.fail_after(PATIENCE):
            async with s.client.listen(resource_subscriptions=watched, resources_list_changed=True) as heard:
                s.equal(sorted(heard.honored.resource_subscriptions), sorted(watched), "what is watched")
                await changes(s, task, lambda wanted: next_event(heard, wanted))
        return
    for uri in watched:
        await s.client.subscribe_resource(uri)

    async def told(wanted):
        while wanted not in s.told:
            await anyio.sleep(0.01)
        s.told.remove(wanted)

    with anyio.fail_after(PATIENCE):
        await changes(s, task, told)
    await s.client.unsubscribe_resource(BOARD_URI)
    s.told.clear()
    await s.call("whiteboard_append", board=BOARD, content="\nUnheard.\n")
    s.cli("task", "comment", task, "--content", "heard after the board")
    with anyio.fail_after(PATIENCE):
        await told(ResourceUpdated(uri=watched[1]))
    s.check(ResourceUpdated(uri=BOARD_URI) not in s.told, "told of a board that is not watched any more")


async def next_event(heard, wanted):
    async for event in heard:
        if event == wanted:
            return
    raise AssertionError(f"the stream ended before {wanted}")


async def changes(s, task, told):
    """Changes through this session and through another process; `told` waits for one."""
    await s.call("whiteboard_append", board=BOARD, content="\nHeard.\n")
    await told(ResourceUpdated(uri=BOARD_URI))
    s.cli("board", "append", BOARD, "--content", "\nHeard from elsewhere.\n")
    await told(ResourceUpdated(uri=BOARD_URI))
    s.cli("task", "comment", task, "--content", "heard")
    await told(ResourceUpdated(uri=f"polis://task/{task}"))
    s.cli("task", "create", "--subject", "One more resource")
    await told(ResourcesListChanged())
    s.checks += 4


async def prompts(s, task, templates):
    listed = await s.all_pages(s.client.list_prompts, "prompts")
    s.check(len(listed) >= 3, "prompts:", [prompt.name for prompt in listed])
    for prompt in listed:
        s.check(prompt.description, prompt.name, "has no description")
        wanted = {argument.name: task for argument in prompt.arguments or [] if argument.required}
        got = await s.client.get_prompt(prompt.name, wanted)
        s.check(got.messages and all(message.content.text for message in got.messages if message.content.type == "text"), prompt.name, "is empty")
        for argument in prompt.arguments or []:
            values = (await s.client.complete(PromptReference(type="ref/prompt", name=prompt.name), {"name": argument.name, "value": ""})).completion.values
            s.check(len(values) <= 100, prompt.name, argument.name, "completes to", len(values))
    try:
        got = await s.client.get_prompt("no_such_prompt")
        s.check(False, "an unknown prompt was given:", got)
    except MCPError as error:
        s.equal(error.code, -32602, "an unknown prompt's code")
    of_tasks = next(template for template in templates if "task/{" in template)
    variable = of_tasks.split("{")[1].split("}")[0].lstrip("+")
    # What can still be worked on is offered, by number and by title.
    title = f"To be found over {s.name}"
    made = (await s.call("TaskCreate", subject=title))["id"]
    for typed in (made, title):
        values = (await s.client.complete(ResourceTemplateReference(type="ref/resource", uri=of_tasks), {"name": variable, "value": typed})).completion.values
        s.check(made in values, "completing", typed, "gives", values)


async def commands(s):
    steps = []

    async def progress(done, total, message):
        steps.append(done)

    result = await s.client.call_tool("run_command", {"command": "for i in 1 2 3; do echo step $i; sleep 0.4; done"}, progress_callback=progress)
    s.check(not result.is_error, "the command was refused:", result.content)
    s.equal((result.structured_content["exitCode"], result.structured_content["stdout"]), (0, "step 1\nstep 2\nstep 3\n"), "the command's end")
    s.check(steps and steps == sorted(set(steps)), "progress:", steps)

    # A cancelled call ends the whole tree of its command: the shell and the child that it waits for.
    marker = f"3600.{os.getpid()}{time.monotonic_ns() % 10**9}"
    async with anyio.create_task_group() as group:
        group.start_soon(s.client.call_tool, "run_command", {"command": f"sleep {marker} & wait"})
        await until(lambda: running(marker))
        group.cancel_scope.cancel()
    s.check(True)
    await until(lambda: not running(marker))
    s.equal((await s.call("run_command", command="echo still here"))["stdout"], "still here\n", "the next command")


def running(marker):
    """Whether a process with this argument runs."""
    for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in process.read_bytes():
                return True
        except OSError:
            continue
    return False


async def until(condition):
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.sleep(0.02)


async def whole_session(name, transport, mode, version, polis, directory):
    told = []

    async def hear(message):
        method = getattr(message, "method", "")
        if method == "notifications/resources/updated":
            told.append(ResourceUpdated(uri=str(message.params.uri)))
        elif method == "notifications/resources/list_changed":
            told.append(ResourcesListChanged())

    # The SDK offers its newest handshake and has no setting for an older one.
    if version < "2026":
        sdk_session.LATEST_HANDSHAKE_VERSION = version
    async with Client(transport, mode=mode, message_handler=hear, cache=None, read_timeout_seconds=PATIENCE) as client:
        s = Session(f"{name} {version}", client, polis, directory, told)
        s.equal(client.protocol_version, version, "the protocol's version")
        await greeting(s)
        await tools(s)
        task = await one_task(s)
        await refusals(s, task)
        text = await whiteboard(s)
        templates = await resources(s, task, text)
        await subscriptions(s, task)
        await prompts(s, task, templates)
        await commands(s)
    print(f"  {s.name}: {s.checks} checks")


ERAS = [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("legacy", "2025-06-18")]


async def main(polis, directory, url=None):
    for mode, version in ERAS:
        server = StdioServerParameters(command=polis, args=["mcp", "--agent", AGENT, "--dir", directory, "--tools", "all"], cwd="/")
        await whole_session("stdio", stdio_client(server), mode, version, polis, directory)
    for mode, version in ERAS if url else []:
        headers = {"Authorization": f"Bearer {os.environ['POLIS_TOKEN']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(PATIENCE, read=None)) as http:
            transport = streamable_http_client(f"{url}/mcp?tools=all", http_client=http)
            await whole_session("http", transport, mode, version, polis, directory)


def causes(error):
    """What is inside of the groups that the SDK's tasks make of an exception."""
    inside = getattr(error, "exceptions", None)
    for inner in inside or []:
        yield from causes(inner)
    if inside is None:
        yield error


if __name__ == "__main__":
    # The older eras are what this is about.
    warnings.simplefilter("ignore")
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    try:
        anyio.run(main, *sys.argv[1:])
    except BaseException as error:
        for cause in causes(error):
            print(f"{type(cause).__name__}: {cause}", file=sys.stderr)
            for place in traceback.extract_tb(cause.__traceback__):
                if place.filename == __file__:
                    print(f"  line {place.lineno}: {place.line}", file=sys.stderr)
        sys.exit(1)
