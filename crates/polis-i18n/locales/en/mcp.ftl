### MCP: server instructions, prompts, resources and protocol errors, for models and their clients.

mcp-instructions = You are { $agent }, an agent of a team that shares tasks, boards and messages. The names below are tools of the polis server, even if your program has tools with the same names. List your tasks with TaskList (owner={ $agent }), or claim the next one with TaskClaim; complete it with TaskUpdate (status=completed). The team's knowledge is on boards: read `global` with whiteboard_read, add to it with whiteboard_append. The file and command tools of this server work in your polis workspace. A refusal states its error code and the next step.

## Prompts: titles, descriptions, arguments

mcp-claim-next-title = Claim the next task
mcp-claim-next-description = Claim the best ready task and start it
mcp-claim-next-role = Only tasks visible to this role
mcp-hand-over-title = Hand over a task
mcp-hand-over-description = Hand over a task so that the next owner can continue immediately
mcp-hand-over-task = Task number
mcp-hand-over-agent = Agent that takes over
mcp-hand-over-note = Points that must not be missed
mcp-stand-up-title = Stand-up report
mcp-stand-up-description = Report what is done, what is next and what is blocked
mcp-stand-up-board = Board for the report; default: your own

## Prompts: texts

mcp-prompt-with-tool-origin =
    { $prompt }
    All tools named here are tools of the polis server, even if your program has tools with the same names.

mcp-claim-next-text =
    Claim the next task and start it.
    1. Call TaskClaim without taskId: it returns the best ready task. If it returns nothing_to_claim, say so and stop.
    2. Read its description, and read the boards it mentions with whiteboard_read.
    3. State your approach in one sentence with TaskComment, then do the work.
    4. When it is done and verified, call TaskUpdate with status=completed; if it cannot be done, explain why with TaskComment.

mcp-claim-next-for-role-text =
    Claim the next task for the role { $role } and start it.
    1. Call TaskList with roleFilter={ $role } and ready=true. If the list is empty, say so and stop.
    2. Choose the task that blocks the most other tasks, read it with TaskGet, and call TaskClaim with its taskId. If it returns already_claimed, choose another.
    3. State your approach in one sentence with TaskComment, then do the work.
    4. When it is done and verified, call TaskUpdate with status=completed; if it cannot be done, explain why with TaskComment.

# $task, $agent, $note: empty, or the sentence below
mcp-hand-over-text =
    Hand over task { $task } to { $agent }.
    1. Call TaskGet with taskId={ $task } and check its current state.
    2. Call TaskComment with taskId={ $task }: what is done, what is left, which files are involved, what you found out.{ $note }
    3. Call TaskUpdate with taskId={ $task }, owner={ $agent } and the expectedVersion you just read. If it is refused, follow the hint of the refusal.
    4. Notify { $agent } with send_message, in one sentence that includes the task number.

mcp-hand-over-note-text = {" "}Do not forget: { $note }

# $agent, $board
mcp-stand-up-text =
    Write the stand-up report of { $agent }.
    1. Call TaskList with owner={ $agent }, and check_messages.
    2. Write at most 12 lines under three headings: done, next, blocked. Give task numbers, and name who could help.
    3. Call whiteboard_append with board={ $board } and that text.

## Resources

mcp-tasks-name = tasks
mcp-tasks-description = Tasks that can be claimed now
mcp-task-name = task { $id }
mcp-task-description = A task of the team
mcp-global-board-description = Whiteboard of the whole team
mcp-top-board-description = Whiteboard of the top layer
mcp-role-board-description = Whiteboard of the role { $role }
mcp-agent-board-description = Whiteboard of the agent { $agent }
mcp-blackboard-description = A file of the blackboard
mcp-board-template = A whiteboard: global, top, mid/ROLE or bottom/AGENT
mcp-task-template = A task
mcp-file-template = A file of your workspace

# $shown, $size, $call, $next
mcp-text-truncated = truncated: { $shown } of { $size } bytes; for the rest call { $call } and offset={ $next }

# $shown, $size, $line
mcp-file-truncated = truncated: { $shown } of { $size } bytes; for the rest call read_file with startLine={ $line }

# $tool, $parameter: with its value
mcp-call-with = { $tool } with { $parameter }

## Protocol errors

mcp-invalid-parameters = The parameters of { $method } are invalid.
mcp-invalid-tool-call = The parameters of tools/call are invalid. Pass `name`, the name of a tool from tools/list, and `arguments`, an object.
mcp-unknown-method = This protocol version has no method { $method }. Use a method of its specification, such as tools/list, tools/call, resources/list or prompts/list.
mcp-line-too-long = The line is longer than { $limit } bytes.
mcp-line-not-json = The line is not JSON: { $error }.
mcp-line-is-batch = A line must contain exactly one message: the protocol has no batches.
mcp-line-not-json-rpc = The line is not a JSON-RPC 2.0 message.
