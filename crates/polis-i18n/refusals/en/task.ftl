### Refusals about tasks.

task-invalid-id = Invalid task id: { $text }. A task id is a decimal number such as 5.
    .cli = list the tasks with `polis task list`
    .tool = list the tasks with `TaskList`
    .http = list the tasks with `GET /v1/tasks`
    .screen = correct the input

task-no-lease = Task #{ $task } has no lease to renew.
    .cli = give one: `polis task heartbeat { $task } --lease 30m`
    .tool = give one: `TaskClaim` with its taskId and leaseMs=1800000
    .http = give one: `POST /v1/tasks/claim` with its taskId and leaseMs=1800000
    .screen = correct the input

task-lease-out-of-range = A lease of { $lease } ms is out of range; between 1 ms and 366 days is accepted.
    .hint = use a shorter lease, and renew it with heartbeats

task-empty-comment = Invalid comment: it is empty.
    .hint = write a comment text

task-comment-not-found = Comment { $number } of task #{ $task } not found.
    .cli = see its comments with `polis task comments { $task }`
    .tool = see its comments with `TaskComments`
    .http = see its comments with `GET /v1/tasks/{"{"}taskId{"}"}/comments`
    .screen = reload the page: it may no longer exist

task-dependency-cycle = Dependency cycle: { $path }.
    .cli = leave out one of these dependencies, or remove one with --remove-blocks / --remove-blocked-by
    .tool = leave out one of these dependencies, or remove one with `TaskUpdate` and removeBlocks or removeBlockedBy
    .http = leave out one of these dependencies, or remove one with `PATCH /v1/tasks/{"{"}taskId{"}"}` and removeBlocks or removeBlockedBy
    .screen = remove one of the dependencies of the cycle

task-not-found = Task #{ $id } not found.
    .cli = list the tasks with `polis task list`
    .tool = list the tasks with `TaskList`
    .http = list the tasks with `GET /v1/tasks`
    .screen = reload the page: it may no longer exist

task-force-assign-forbidden = Only team-lead can use forceAssign
    .cli = omit --force-assign, or ask the team lead to assign the task
    .tool = omit forceAssign, or ask the team lead to assign the task
    .screen = ask someone with permission

task-held-by = Task #{ $task } is { $status ->
        [in_progress] in progress
        [pending] pending
        [completed] completed
       *[other] deleted
    } and held by "{ $owner }", not by "{ $agent }".
    .cli = { $status ->
        [completed] create a new task for further work
       *[other] claim it first (`polis task claim { $task }`), or ask the team lead
    }
    .tool = { $status ->
        [completed] create a new task for further work
       *[other] claim it first with `TaskClaim`, or ask the team lead
    }
    .http = { $status ->
        [completed] create a new task for further work
       *[other] claim it first with `POST /v1/tasks/claim`, or ask the team lead
    }
    .screen = { $status ->
        [completed] create a new task for further work
       *[other] claim it first, or ask the team lead
    }

task-held-by-none = Task #{ $task } is { $status ->
        [in_progress] in progress
        [pending] pending
        [completed] completed
       *[other] deleted
    } and held by no agent, not by "{ $agent }".
    .cli = { $status ->
        [completed] create a new task for further work
       *[other] claim it first (`polis task claim { $task }`), or ask the team lead
    }
    .tool = { $status ->
        [completed] create a new task for further work
       *[other] claim it first with `TaskClaim`, or ask the team lead
    }
    .http = { $status ->
        [completed] create a new task for further work
       *[other] claim it first with `POST /v1/tasks/claim`, or ask the team lead
    }
    .screen = { $status ->
        [completed] create a new task for further work
       *[other] claim it first, or ask the team lead
    }

task-completed-keeps-owner = Task #{ $task } is completed; its owner stays on record.
    .hint = create a new task for further work, or ask the team lead to force-assign it

task-owner-retired = Agent "{ $owner }" is retired and cannot own tasks.
    .cli = name an active agent; `polis agent list` shows them
    .tool = name an active agent; `list_agents` shows them
    .http = name an active agent; `GET /v1/agents` shows them
    .screen = choose an agent from the list of agents

task-role-mismatch =
    Role mismatch. Task requires "{ $required }", but you are "{ $role }".
    Use TaskList({"{"} roleFilter: "{ $role }" {"}"}) to find tasks for your role.
    .text-cli = Role mismatch. Task requires "{ $required }", but you are "{ $role }".
    .text-screen = Role mismatch. Task requires "{ $required }", but you are "{ $role }".
    .cli = run `polis task list --role-filter { $role }`; the team lead and the person may add --force-assign
    .tool = see the tasks for your role with `TaskList` and roleFilter={ $role }; the team lead may pass forceAssign=true
    .http = see the tasks for your role with `GET /v1/tasks` and roleFilter={ $role }; the team lead may pass forceAssign=true
    .screen = assign it to an agent with that role

task-owner-role-mismatch = Role mismatch. Task requires "{ $required }", but "{ $owner }" is "{ $role }".
    .cli = name an agent of that role, which `polis agent list` shows; the team lead and the person may add --force-assign
    .tool = name an agent of that role, which `list_agents` shows; the team lead may pass forceAssign=true
    .http = name an agent of that role, which `GET /v1/agents` shows; the team lead may pass forceAssign=true
    .screen = assign it to an agent with that role

task-owner-not-registered = Role mismatch. Task requires "{ $required }", and "{ $owner }" is not a registered agent.
    .cli = name a registered agent with that role (`polis agent list` shows them), or register it with `polis agent add`
    .tool = name a registered agent with that role (`list_agents` shows them), or have it registered
    .http = name a registered agent with that role (`GET /v1/agents` shows them), or have it registered
    .screen = choose an agent from the list of agents

task-already-claimed = Task #{ $task } is already claimed by "{ $owner }".
    .cli = claim another one (`polis task claim` takes the best ready task), or ask its owner to release it
    .tool = claim another one (`TaskClaim` without taskId takes the best ready one), or ask its owner to release it
    .http = claim another one (`POST /v1/tasks/claim` without taskId takes the best ready one), or ask its owner to release it
    .screen = choose another task, or ask its owner to release it

task-invalid-status = Invalid status: { $name }. Valid: pending, in_progress, completed, deleted.
    .hint = use one of the valid statuses

task-transition-start-first = Invalid status transition: "{ $from }" -> "{ $to }".
    Allowed transitions from "{ $from }": [{ $allowed }]{ $lead_only ->
        [true] { " " }(team-lead only)
       *[other] {""}
    }.
    .hint = start it first: claim it or set its status to in_progress

task-transition-release-instead = Invalid status transition: "{ $from }" -> "{ $to }".
    Allowed transitions from "{ $from }": [{ $allowed }]{ $lead_only ->
        [true] { " " }(team-lead only)
       *[other] {""}
    }.
    .cli = release it instead: `polis task release ID`
    .tool = release it instead: `TaskUpdate` with owner=""
    .http = release it instead: `PATCH /v1/tasks/{"{"}taskId{"}"}` with owner=""
    .screen = choose an allowed status, or release the task

task-transition-ask-lead-to-delete = Invalid status transition: "{ $from }" -> "{ $to }".
    Allowed transitions from "{ $from }": [{ $allowed }]{ $lead_only ->
        [true] { " " }(team-lead only)
       *[other] {""}
    }.
    .text-cli = Only the team lead may delete a completed task.
    .text-screen = Only the team lead may delete a completed task.
    .hint = ask the team lead to delete it

task-transition-create-new = Invalid status transition: "{ $from }" -> "{ $to }".
    Allowed transitions from "{ $from }": [{ $allowed }]{ $lead_only ->
        [true] { " " }(team-lead only)
       *[other] {""}
    }.
    .hint = create a new task for further work

task-not-begun = Task #{ $task } is pending; only work that has begun can be approved.
    .hint = approve it when its owner reports it done

task-version-mismatch =
    Task version mismatch. Expected: { $expected }, Current: { $current }.
    Another agent has modified this task. Please refresh and retry.
    .cli = read it again with `polis task get { $task }` and retry with its version
    .tool = read it again with `TaskGet` and retry with its version as expectedVersion
    .http = read it again with `GET /v1/tasks/{"{"}taskId{"}"}` and retry with its version as expectedVersion
    .screen = reload, apply your change again and save

task-search-too-long = A search text has at most { $max_search_bytes } bytes and no NUL.
    .hint = search for fewer words

task-invalid-type = Invalid taskType: { $name }. Valid types: { $types }.
    .text-cli = Invalid task type: { $name }. Valid types: { $types }.
    .text-screen = Invalid task type: { $name }. Valid types: { $types }.
    .hint = use one of the valid types, or leave the type out

task-empty-line = Invalid { $field }: it is empty.
    .hint = give one short line; details belong in the description

task-line-too-long = Invalid { $field }: { $chars } characters; at most { $max_subject_chars } are accepted.
    .hint = give one short line; details belong in the description

task-line-control = Invalid { $field }: it contains the control character U+{ $character }.
    .hint = give one short line; details belong in the description

task-text-too-long = Invalid { $field }: { $bytes } bytes; at most { $max_text_bytes } are accepted.
    .hint = put long texts into a file or a board and refer to it

task-text-control = Invalid { $field }: it contains the control character U+{ $character }.
    .hint = remove control characters; line breaks and tabs are fine

task-metadata-too-large = Invalid metadata: { $size } bytes; at most { $max_metadata_bytes } are accepted.
    .hint = put large data into a file and refer to it

task-metadata-surrogate = Invalid metadata: a string contains an unpaired surrogate.
    .hint = use valid Unicode escapes

task-metadata-too-deep = Invalid metadata: nested { $depth } deep; at most { $max_json_depth } is accepted.
    .hint = flatten the value, or encode it as a string

task-blocked = Task #{ $task } is blocked: { $open } of the tasks it waits for ({ $blockers }) not completed.
    .cli = complete those first; `polis task ready` lists what can be started
    .tool = complete those first; `TaskList` with ready=true lists what can be started
    .http = complete those first; `GET /v1/tasks` with ready=true lists what can be started
    .screen = complete its dependencies first

task-approval-required = Task #{ $task } is of type "{ $task_type }" and needs approval before it is completed.
    .cli = ask the team lead to run `polis task approve { $task }`, then complete it
    .tool = ask the team lead to approve it with `TaskApprove`, then complete it
    .http = ask the team lead to approve it with `POST /v1/tasks/{"{"}taskId{"}"}/approve`, then complete it
    .screen = have it approved first, then complete it

task-nothing-to-update = Nothing to update: the request names no field of task #{ $task }.
    .hint = give at least one field, for example a status or an owner

task-unknown-priority = Unknown priority: { $name }. Valid priorities: { $priorities }.
    .hint = use one of the valid priorities, or leave the priority out

task-priorities-disagree = The priority { $priority } and metadata.priority { $value } disagree.
    .hint = give only one of them; the other follows

task-unknown-sort = Unknown order: { $name }. Valid orders: { $orders }.
    .hint = use one of the valid orders, or leave it out

task-cursor-of-other-sort = The cursor { $cursor } does not belong to a list sorted by { $sort }.
    .hint = keep the order of the first page, or start again without a cursor

cycle-step-new-task = the new task

text-field-subject = subject
text-field-description = description
text-field-active-form = activeForm
text-field-comment = comment
text-field-note = note
text-field-reason = reason
text-field-decision = decision
text-field-milestone = milestone
text-field-milestone-title = milestone title
text-field-milestone-description = milestone description
