### Refusals about runs, members, hiring and roles of a run.

society-brief-without-objective = The brief has no objective.
    .hint = set an objective, and preferably constraints, inputs, outputs and completionCriteria
    .screen = correct the input

society-brief-too-long = The brief is longer than 64 KiB.
    .hint = store the long part in an artifact or a file and name it in references

society-only-person-decides-calls = Only a person may approve or deny calls.
    .hint = wait for the person, or send a message to user

society-call-decided = This call was already { $outcome }.
    .cli = list the pending approvals with `polis society approvals`
    .tool = list the pending approvals with `list_approvals`
    .http = list the pending approvals with `GET /v1/society/approvals`
    .screen = check the current state, then decide again

society-approval-not-found = There is no approval { $id }.
    .cli = list the pending approvals with `polis society approvals`
    .tool = list the pending approvals with `list_approvals`
    .http = list the pending approvals with `GET /v1/society/approvals`
    .screen = reload the page: it may no longer exist

society-not-descendant = "{ $other }" is not below "{ $caller }".
    .cli = only the agents above "{ $other }", the person and the agent that started the run may do this; `polis society tree` shows the members
    .tool = only the agents above "{ $other }", the person and the agent that started the run may do this; `get_org` shows the members
    .http = only the agents above "{ $other }", the person and the agent that started the run may do this; `GET /v1/society/runs/{"{"}runId{"}"}/tree` shows the members
    .screen = ask someone with permission

society-dismissed-cannot-hire = "{ $agent }" was dismissed and cannot hire.
    .hint = stop calling tools; you were dismissed

society-root-has-child = Root has at most one direct child in a run, and has already hired "{ $child }".
    .hint = send "{ $child }" a message and let it hire, or dismiss it first with `terminate_agent`
    .http = send "{ $child }" a message and let it hire, or dismiss it first with `DELETE /v1/society/agents/{"{"}agentId{"}"}`
    .screen = check the current state, then decide again

society-too-deep = "{ $agent }" is at depth { $depth }, the maximum is { $maximum }.
    .hint = do the work yourself, or ask your supervisor to hire more agents

society-too-many-agents = This run has reached its limit of { $limit } agents.
    .hint = dismiss finished agents with `terminate_agent`, or give the work to an existing agent
    .http = dismiss finished agents with `DELETE /v1/society/agents/{"{"}agentId{"}"}`, or give the work to an existing agent
    .screen = check the current state, then decide again

society-hiring-too-fast = This run has reached its limit of { $limit } hires per minute.
    .hint = continue with the existing agents, and hire more later

society-invalid-agent-name = An agent's name is 1 to 200 characters without control characters.
    .hint = shorten or clean the name, or leave it out

society-run-stopped = Run "{ $run }" is stopped; all members were dismissed.
    .cli = start a new run with `polis run`
    .tool = start a new run with `start_run`
    .http = start a new run with `POST /v1/society/runs`
    .screen = check the current state, then decide again

society-run-done = Run "{ $run }" is done and cannot be paused.
    .hint = send a message to one of its members to reopen it

society-run-not-found = There is no run "{ $run }".
    .cli = list the runs with `polis society ps`
    .tool = check runId, or ask the person for it
    .http = list the runs with `GET /v1/society/runs`
    .screen = reload the page: it may no longer exist

society-invalid-run-id = Invalid run id: { $text }.
    .cli = list the runs with `polis society ps`
    .tool = check runId, or ask the person for it
    .http = list the runs with `GET /v1/society/runs`
    .screen = correct the input

society-role-differs = This run already has a role { $role } with { $differences }.
    .hint = spawn with roleId { $role_id } to use it as it is, or choose another name
    .screen = check the current state, then decide again

society-role-not-found = This run has no role { $name }.
    .hint = create it with `create_role`, or find another with `find_role_by_name`
    .http = create it with `POST /v1/society/roles`, or find another with `GET /v1/society/roles`
    .screen = reload the page: it may no longer exist

society-invalid-role-name = A role's name is 1 to 100 characters without control characters.
    .hint = give a short name such as "programmer"

society-invalid-role-prompt = A role's prompt is empty, or longer than 64 KiB.
    .hint = describe in rolePrompt what an agent with this role does
    .screen = correct the input

society-too-many-role-tools = A role's tools are at most 100 names of tools or groups of tools.
    .hint = name fewer, or leave tools out

society-invalid-temperature = A temperature is a number from 0 to 2.
    .hint = set a number in this range, or leave it out

society-not-plain-text = { $error }
    .hint = use plain text

society-member-cannot-start-run = "{ $agent }" is a member of the run "{ $run }" and cannot start another.
    .hint = hire agents with `spawn_agent`
    .http = hire agents with `POST /v1/society/agents`
    .screen = ask someone with permission

society-invalid-requirement = The requirement is empty, or longer than 128 KiB.
    .hint = describe the requirement; put long texts into files of the workspace and name them

society-too-many-listed = There are more than 100 roles or tools, or the team's name is too long.
    .hint = list fewer; roles can be created later with `create_role`
    .http = list fewer; roles can be created later with `POST /v1/society/roles`
    .screen = correct the input

society-role-twice = Two roles have the name { $role }.
    .hint = give each role a unique name

role-difference-prompt = a different prompt
role-difference-tools = different tools
role-difference-model = a different model
role-difference-approve = different tools to approve
