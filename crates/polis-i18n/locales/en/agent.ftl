### Agents: roles, layers, statuses, pages.

agent-tokens-unit = tokens
agent-layer = Layer
agent-reports-to = Reports to
agent-objective = Objective
agent-turns-unit = turns
agent-spent = Spent
agent-search-placeholder = name or role
agent-include-retired = include retired agents and stopped runs
agent-registered-title = Registered
agent-tasks-held = Tasks held
agent-below-column = below
agent-list-incomplete = Not all agents are shown; search to find others.
agent-none-title = No agents yet
agent-none-explanation = Agents claim tasks, write boards and run commands. Register one, or start a run that hires its own:
agent-not-registered = Not registered: only the name is known.
agent-reports-to-prefix = reports to{" "}
agent-registered-prefix = registered{" "}
agent-view-tasks = View on the task board
agent-spending-with-subordinates = Spending of this agent and all agents below
agent-hired-by-prefix = hired by{" "}
agent-resume = Resume
agent-pause = Pause
agent-including-subordinates = including all agents below

## Roles

agent-role-team-lead = team-lead
agent-role-product-manager = product-manager
agent-role-architect = architect
agent-role-backend-leader = backend-leader
agent-role-frontend-leader = frontend-leader
agent-role-client-leader = client-leader
agent-role-test-leader = test-leader
agent-role-devops-leader = devops-leader

## Layers

agent-layer-top = Top layer
agent-layer-mid = Mid layer
agent-layer-bottom = Bottom layer

## Statuses

agent-status-working = Working
agent-status-active = Active
agent-status-retired = Retired
agent-status-idle = Idle
agent-status-awaiting-approval = Awaiting approval
agent-status-parked = Parked
agent-status-dismissed = Dismissed

## Dismissal

agent-dismiss-explanation = The agent and all agents below it will be dismissed. Their tasks are released, their unspent budget is returned, and files are kept.
agent-dismiss-hired-by-it = It hired:{" "}
agent-dismiss-question = Dismiss { $id }?
agent-dismiss-confirm = Dismiss
agent-dismiss = Dismiss

## Retirement

agent-retire-explanation = A retired agent can no longer act, and its name is not reused. An agent that owns unfinished tasks or supervises other agents cannot be retired.
agent-retire-question = Retire { $id }?
agent-retire-confirm = Retire
agent-retire = Retire
