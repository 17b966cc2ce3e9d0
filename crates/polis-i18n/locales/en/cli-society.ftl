### Output of `polis society`: runs, members, budgets, call approvals, conversations, teams.

## Lists

cli-society-run-column = RUN
cli-society-agents-column = AGENTS
cli-society-hired-column = HIRED
cli-society-team-column = TEAM
cli-society-duration-column = DURATION
cli-society-requirement-column = REQUIREMENT
cli-society-turns-column = TURNS
cli-society-tokens-column = TOKENS
cli-society-task-column = TASK
cli-society-created-by-column = CREATED BY
cli-society-tools-column = TOOLS
cli-society-prompt-column = PROMPT
cli-society-money-column = MONEY
cli-society-commands-column = COMMANDS
cli-society-time-column = TIME
cli-society-tool-column = TOOL
cli-society-arguments-column = ARGUMENTS
cli-society-built-in-column = BUILT IN
cli-society-files-column = FILES HERE

## Runs and members

cli-society-no-run = No run yet. Start one with `polis run "REQUIREMENT"`, or watch `polis demo`.
cli-society-no-active-run = No active run. Start one with `polis run "REQUIREMENT"`; `polis society ps --all` includes stopped runs.
cli-society-status-active = active
cli-society-status-paused = paused
cli-society-status-done = done
cli-society-status-stopped = stopped
cli-society-status-working = working
cli-society-status-asking = asking
cli-society-status-parked = parked
cli-society-status-dismissed = dismissed

cli-society-no-roles = Run { $run } has no roles yet; its agents create them.
cli-society-all-tools = all

## Control

# $agent, $message
cli-society-sent = Sent to { $agent } (message { $message }). The agent reads it at its next step.

cli-society-run-paused = Run { $run } is paused until `polis society resume { $run }`.
cli-society-run-resumed = Run { $run } is resumed.
cli-society-no-status-changed = No agent changed its status.
cli-society-run-stopped = Run { $run } is stopped: all agents were dismissed. Its files are kept; `polis society log AGENT` still shows the conversations.

## Budgets

# $agent, $run, $limits
cli-society-budget-set = Budget of { $agent } in run { $run }: { $limits }.

# $run, $agent
cli-society-budget-resume-hint = If it was paused at its limit, resume it with: polis society resume { $run } --agent { $agent }

cli-society-budget-explanation = Spent by each agent and all agents below it, and the limit. Set limits with --budget-tokens and the other flags.

# $spent, $limit
cli-society-spent-of-limit = { $spent } of { $limit }

cli-society-limit-money = money { $money }
cli-society-limit-turns = { $count } turns
cli-society-limit-commands = { $count } commands
cli-society-limit-time = time { $duration }
cli-society-no-limit = no limit

## Call approvals

cli-society-no-approvals = No call needs approval. `society.approve` in polis.toml lists the tools that do.
cli-society-approvals-hint = polis society approve ID, or polis society deny ID --note WHY
cli-society-approval-pending = pending
cli-society-approval-allowed-by = allowed by { $person }
cli-society-approval-denied-by = denied by { $person }

## Conversations

cli-society-no-turns = { $agent } has no turns yet: it waits for its first message.
cli-society-earlier-turns = ({ $count } earlier turns: --from 0)
cli-society-turn = turn { $turn }
cli-society-later-turns = (more: --from { $turn })
cli-society-log-input = input
cli-society-log-answer = answer
cli-society-log-call = call
cli-society-log-usage = usage
cli-society-log-result = result
cli-society-log-failed = failed
cli-society-log-interrupted = interrupted
cli-society-log-denied = denied
cli-society-log-notice = notice
cli-society-log-summary = summary

# $prompt, $response, $milliseconds
cli-society-usage = { $prompt } tokens in, { $response } out, { $milliseconds } ms

# $prompt, $response, $milliseconds
cli-society-usage-estimated = about { $prompt } tokens in, { $response } out, { $milliseconds } ms

cli-society-usage-cost = , cost { $money }
cli-society-usage-attempts = , tried { $count } times
cli-society-usage-model = , { $model }
cli-society-in-parentheses = ({ $text })
cli-society-lines-omitted = … { $count } more lines (--full)

## Teams

cli-society-built-in = yes
cli-society-not-built-in = no
cli-society-team-tools = tools: { $tools }
cli-society-team-model = model: { $model }
cli-society-default-model = default
cli-society-file-written = Wrote { $file }
cli-society-file-kept = Kept { $file }
cli-society-edit-team-files = Edit the files; runs started from now on use them.
