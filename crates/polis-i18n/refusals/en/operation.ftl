### Refusals of operations, beyond those of the rules.

operation-response-unknown = An earlier request with this key is still running or was interrupted; its outcome is unknown.
    .hint = check whether the change was made; if not, repeat it with a new key

operation-key-reused = This key was used for another request.
    .hint = use a new key for each request, and reuse a key only to repeat an identical request

operation-invalid-key = An idempotency key is 1 to 255 visible ASCII characters.
    .hint = use a random key for each request, such as a UUID

operation-board-log-damaged = The log of board { $board } is damaged.
    .cli = restore the store from a backup; `polis doctor` checks it
    .tool = tell the person who runs polis to restore the store from a backup
    .screen = retry; if it persists, check the server log

operation-board-version-not-found = Board { $board } has no version { $version }, or it is no longer in the history.
    .cli = list its versions with `polis board history { $board }`
    .tool = list its versions with `whiteboard_history`
    .http = list its versions with `GET /v1/boards/{"{"}board{"}"}/history`
    .screen = reload the page: it may no longer exist

operation-no-project-directory = There is no project directory for workspaces.
    .cli = run `polis init` in your project, or name its directory with --dir
    .tool = ask the person who runs polis to set it up in your project
    .screen = reload the page: it may no longer exist

operation-agent-not-registered = Agent "{ $id }" is not registered.
    .cli = list the registered agents with `polis agent list`, or register it with `polis agent add`
    .tool = list the registered agents with `list_agents`, or have it registered
    .http = list the registered agents with `GET /v1/agents`, or have it registered
    .screen = choose an agent from the list of agents

operation-blackboard-file-not-found = The blackboard has no file { $path }.
    .cli = check the path; `polis blackboard list` lists the files
    .tool = check the path; `whiteboard_list` lists the files
    .http = check the path; `GET /v1/boards` lists the files
    .screen = reload the page: it may no longer exist

operation-blackboard-file-locked = { $path } is locked by another program.
    .hint = retry later, or find out which program has it open

operation-decision-field-missing = `{ $field }` is missing.
    .hint = pass `{ $field }`: { $field ->
        [id] the decision's number, such as 3
       *[other] the text of the decision
    }

operation-decision-field-inapplicable = `{ $field }` does not apply to this action.
    .hint = propose takes content and milestone; the other actions take id, and veto also a reason

operation-invalid-board-cursor = { $cursor } is not a valid cursor.
    .hint = pass `next` of the previous page, or omit the cursor

operation-nothing-to-append = There is nothing to append.
    .cli = give --content TEXT
    .tool = give content
    .screen = correct the input

operation-webhook-damaged = A stored webhook cannot be read.
    .hint = register it again

operation-artifact-damaged = An artifact in the store cannot be read.
    .hint = store it again with another type

operation-person-mailbox = Only the person may read this mailbox.
    .hint = read your own messages with check_messages
    .screen = ask someone with permission

operation-too-many-read = At most { $max_page_size } messages can be marked as read at once.
    .hint = pass fewer ids

operation-budget-exhausted = The budget of "{ $owner }" is exhausted (limit: { $amount }{ $resource ->
        [money] { " " }money
        [tokens] { " " }tokens
        [token] { " " }token
        [turns] { " " }turns
        [turn] { " " }turn
        [commands] { " " }commands
       *[other] { " " }command
    }).
    .cli = raise it with `polis society budget`, then continue with `polis society resume`
    .tool = ask the person to raise the budget and to resume you
    .screen = raise the budget, then resume

operation-turn-damaged = A turn of a conversation cannot be read.
    .cli = run `polis doctor`; a newer polis may have written it
    .tool = tell the person who runs polis: a newer version may have written it
    .screen = retry; if it persists, check the server log

operation-society-record-damaged = A record of the society cannot be read.
    .cli = run `polis doctor`; a newer polis may have written it
    .tool = tell the person who runs polis: a newer version may have written it
    .screen = retry; if it persists, check the server log

operation-root-of-stopped-run = Run "{ $id }" is stopped; its root receives no messages.
    .hint = start a new run, or choose another recipient

operation-no-run-named = The request names no run.
    .cli = name the run; `polis society ps` lists the runs
    .tool = pass runId; ask the person for it, if no message has told you
    .http = pass runId; `GET /v1/society/runs` lists the runs
    .screen = reload the page: it may no longer exist

operation-not-a-member = "{ $agent }" is not a member of any run.
    .cli = list the members with `polis society tree`
    .tool = list the members with `get_org`
    .http = list the members with `GET /v1/society/runs/{"{"}runId{"}"}/tree`
    .screen = choose an agent from the list of agents

operation-neither-member-nor-run = Neither a member nor a run is named.
    .hint = pass agentId, or runId for a whole run
    .screen = correct the input

operation-unregistered-cannot-hire = "{ $agent }" is not a registered agent, so it cannot hire.
    .cli = register it first: `polis agent add`
    .tool = have it registered first
    .screen = correct the input

operation-no-role-given = No role is given for the new agent.
    .hint = pass roleId, from `create_role` or `find_role_by_name`
    .http = pass roleId, from `POST /v1/society/roles` or `GET /v1/society/roles`
    .screen = correct the input

operation-run-name-taken = A run or an agent is already named "{ $id }".
    .hint = choose another name, or omit it

operation-no-ready-task = No ready task for "{ $agent }" ({ $role }).
    .cli = list the tasks with `polis task list`, and see what blocks them with `polis task graph`
    .tool = list the tasks with `TaskList`, and see what blocks each of them with `TaskGet`
    .http = list the tasks with `GET /v1/tasks`, and see what blocks each of them with `GET /v1/tasks/{"{"}taskId{"}"}`
    .screen = see the list of tasks for what is open and what blocks it

operation-no-ready-task-for-stranger = No ready task for "{ $agent }", which is neither a registered agent nor a role.
    .cli = act as a registered agent (`polis agent list` shows them), or under the name of a role: { $roles }
    .tool = act as a registered agent (`list_agents` shows them), or under the name of a role: { $roles }
    .http = act as a registered agent (`GET /v1/agents` shows them), or under the name of a role: { $roles }
    .screen = see the list of tasks for what is open and what blocks it

operation-file-changed-during-import = { $file } changed while it was being imported: { $reason }. Nothing was imported.
    .hint = import again when no program is writing to the directory

operation-import-faults =
    { $count } fault(s) found; nothing was imported.
    { $list }
    .cli = fix the files, or import without --strict to have them repaired or skipped
    .tool = fix the files
    .screen = correct the input

operation-sign-in-key-damaged = A stored sign-in key cannot be read.
    .cli = run `polis open` for a new link
    .tool = ask the person who runs polis for a new link
    .screen = retry; if it persists, check the server log

operation-token-damaged = A stored token cannot be read.
    .hint = revoke it and issue a new one

operation-command-damaged = The record of a command cannot be read.
    .cli = run `polis doctor`; a newer polis may have written it
    .tool = tell the person who runs polis: a newer version may have written it
    .screen = retry; if it persists, check the server log

operation-command-not-found = There is no command { $id }, or you may not see it.
    .cli = list the commands with `polis ws commands`
    .tool = list the commands with `list_commands`
    .http = list the commands with `GET /v1/commands`
    .screen = reload the page: it may no longer exist

operation-command-cancelled = The command was cancelled because its caller stopped waiting.
    .hint = run it again if you need its result

operation-command-timeout = The command timed out after { $timeout_ms } ms.
    .cli = raise the timeout with --timeout-ms, or split the work into shorter commands
    .tool = raise the timeout with timeoutMs, or split the work into shorter commands
    .screen = wait a moment and retry

operation-only-registered-agents = "{ $id }" is not a registered agent, and this project allows only registered agents.
    .cli = check the spelling with `polis agent list`, or have it registered
    .tool = check the spelling with `list_agents`, or have it registered
    .http = check the spelling with `GET /v1/agents`, or have it registered
    .screen = ask someone with permission

operation-too-many-conflicts = Timed out because other commits kept changing the same records; nothing was changed.
    .hint = retry; if it persists, reduce the number of concurrent writers
