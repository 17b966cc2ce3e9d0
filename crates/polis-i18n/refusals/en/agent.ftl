### Refusals about the registration, supervision and retirement of agents.

agent-fixed-name = "{ $agent }" is a fixed name and cannot be registered.
    .hint = choose another id

agent-already-registered = Agent "{ $agent }" is already registered.
    .cli = see it with `polis agent show { $agent }`, or choose another id
    .tool = see it with `list_agents`, or choose another id
    .http = see it with `GET /v1/agents`, or choose another id
    .screen = check the current state, then decide again

agent-differs-by-case = Agent "{ $agent }" differs from "{ $other }" only by case.
    .hint = choose another id

agent-invalid-name = An agent's name is 1 to 200 characters without control characters.
    .hint = shorten or clean the name

agent-supervisor-unknown = Supervisor "{ $supervisor }" is not a registered agent.
    .cli = register the supervisor first: `polis agent add`
    .tool = register the supervisor first: `add_agent`
    .http = register the supervisor first: `POST /v1/agents`
    .screen = correct the input

agent-supervisor-retired = Supervisor "{ $supervisor }" is retired.
    .hint = name an active agent

agent-supervisor-in-run = Supervisor "{ $supervisor }" is a member of a run; agents join a run only by being hired.
    .hint = name a supervisor that is not a member of a run

agent-supervisor-below = Supervisor "{ $supervisor }" is in the { $supervisor_layer } layer, below the { $layer } layer of the new agent.
    .hint = name a supervisor of the same layer or a higher one

agent-retire-member = Agent "{ $agent }" is a member of the run "{ $run }".
    .cli = stop its run: `polis society stop { $run }`
    .tool = dismiss it and all agents below it with `terminate_agent`
    .http = dismiss it and all agents below it with `DELETE /v1/society/agents/{"{"}agentId{"}"}`
    .screen = release its tasks, and dismiss or retire the agents below it first

agent-retire-owner = Agent "{ $agent }" still owns { $count ->
        [one] { $count } unfinished task
       *[other] { $count } unfinished tasks
    }, #{ $task } among them.
    .cli = release it first: `polis task release { $task }`
    .tool = release it first: `TaskUpdate` with its taskId and owner=""
    .http = release it first: `PATCH /v1/tasks/{"{"}taskId{"}"}` with its taskId and owner=""
    .screen = release its tasks, and dismiss or retire the agents below it first

agent-retire-supervisor = Agent "{ $agent }" still supervises { $count ->
        [one] { $count } active agent
       *[other] { $count } active agents
    }, "{ $report }" among them.
    .cli = retire the agents below it first: `polis agent retire { $report }`
    .tool = retire the agents below it first: `retire_agent`
    .http = retire the agents below it first: `DELETE /v1/agents/{"{"}id{"}"}`
    .screen = release its tasks, and dismiss or retire the agents below it first

agent-retired-caller = Permission denied: agent "{ $id }" is retired and may no longer act.
    .cli = register a new agent with `polis agent add`; names of retired agents are not reused
    .tool = have a new agent registered; names of retired agents are not reused
    .screen = ask someone with permission

agent-invalid-id = Invalid agent id: { $text }.
    .hint = use letters, digits, '-', '_' and '.', beginning with a letter or digit, at most 200 bytes

agent-invalid-role = Invalid role: { $role }. Valid roles: { $roles }.
    .hint = use one of the valid roles, or add yours to `roles` in .agent-workspace/polis.toml

agent-invalid-required-role = Invalid requiredRole: { $role }. Valid roles: { $roles }.
    .text-cli = Invalid required role: { $role }. Valid roles: { $roles }.
    .text-screen = Invalid required role: { $role }. Valid roles: { $roles }.
    .hint = use one of the valid roles, or add yours to `roles` in .agent-workspace/polis.toml

agent-no-permission = Permission denied. "{ $agent }" ({ $role }) does not have { $permission }.
    .hint = ask the team lead, or grant { $permission } to { $role } in .agent-workspace/rbac.yaml

agent-no-permission-by-default = Permission denied. "{ $agent }" ({ $role }) does not have { $permission }.
    .hint = ask the team lead or the person to do it

agent-held-by-other-session = Task #{ $task } is held by another live session of "{ $agent }".
    .cli = claim another one (`polis task claim` takes the best ready task)
    .tool = claim another one (`TaskClaim` without taskId takes the best ready one)
    .http = claim another one (`POST /v1/tasks/claim` without taskId takes the best ready one)
    .screen = choose another task, or wait until that session ends
