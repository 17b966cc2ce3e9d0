### `polis run`: the live view, the lines that the person types, the summary.

## Start

cli-run-detached =
    Run { $run } is started. A `polis serve` on this store drives it as soon as one is running.
    See it with `polis society tree { $run }`, or drive it here with `polis run --resume { $run }`.

cli-run-project-created = Created { $directory } here, as `polis init` does.
cli-run-started = Run { $run } started. Type an answer, or /help for more. Ctrl-C interrupts the run; `polis run --resume` continues it.
cli-run-resumed = Run { $run } resumed. Type an answer, or /help for more. Ctrl-C interrupts the run; `polis run --resume` continues it.

## Lines that the person types

cli-run-input-help =
    TEXT              answer the oldest open question, or the agent that wrote last
    @AGENT TEXT       write to an agent
    /approve [ID]     approve the oldest pending call, or the named one
    /deny [ID] [WHY]  deny it
    /pause [AGENT]    pause an agent, or the whole run
    /resume [AGENT]   resume an agent, or the whole run
    /quit             leave the run; `polis run --resume` continues it

cli-run-unknown-input = Unknown command: { $text }. /help lists the commands.

# $agent, $text
cli-run-message-sent = you → { $agent }: { $text }

cli-run-no-pending-call = No call needs approval.

# $agent, $tool
cli-run-call-approved = Approved the call of { $agent } to { $tool }.

# $agent, $tool
cli-run-call-denied = Denied the call of { $agent } to { $tool }.

cli-run-paused = The run is paused until /resume.
cli-run-continued = The run is resumed.
cli-run-agent-not-pausable = { $agent } cannot be paused now.
cli-run-agent-not-paused = { $agent } was not paused.
cli-run-agents-paused = Paused: { $agents }.
cli-run-agents-resumed = Resumed: { $agents }.

## What the run needs from the person

# $agent, $tool, $arguments
cli-run-call-wanted = { $agent } wants to call { $tool } { $arguments }

cli-run-call-approved-by-flag = approved (--yes)
cli-run-call-needs-approval = needs approval: /approve, or /deny WHY
cli-run-leave-hint = Or /quit to leave the run; it can be resumed later.
cli-run-exiting = Exiting: finishing pending writes. Press Ctrl-C again to exit immediately.
cli-run-needs-resume = The run is paused: /resume

# $count, $agents
cli-run-needs-approvals =
    { $count ->
        [one] 1 approval pending ({ $agents }): /approve or /deny
       *[other] { $count } approvals pending ({ $agents }): /approve or /deny
    }

# $agent, $status
cli-run-needs-agent-resumed = { $agent } { $status }: /resume { $agent }

# $agent, $status, $reason
cli-run-needs-agent-resumed-with-reason = { $agent } { $status } ({ $reason }): /resume { $agent }

# $agent, $question
cli-run-needs-answer = { $agent } asks: { $question }

cli-run-answer-prompt = Type your answer to { $agent }.

## Summary

cli-run-outcome-done = Done
cli-run-outcome-needs-person = Waiting for you
cli-run-outcome-stopped = The run was stopped
cli-run-outcome-interrupted = Interrupted

# $outcome, $elapsed, $turns, $tokens
cli-run-summary = { $outcome } after { $elapsed }: { $turns }, { $tokens }

# $summary, $cost
cli-run-summary-with-cost = { $summary }, { $cost }

cli-run-summary-sentence = { $summary }.

# $agent, $text
cli-run-agent-said = { $agent } said: { $text }

# $agent, $text
cli-run-agent-asked = { $agent } asked: { $text }

# $agent, $run
cli-run-answer-command = Answer with: polis society send { $agent } TEXT --run { $run }

cli-run-files = Files: { $directory }

# $run, $agent
cli-run-next-after-done = See who did what: polis society tree { $run } --all, polis society log AGENT. More to do: polis society send { $agent } TEXT --run { $run }, then polis run --resume { $run }

cli-run-next-after-stop = See who did what: polis society tree { $run } --all
cli-run-agent-placeholder = AGENT
cli-run-next-approvals = Decide the pending calls: polis society approvals { $run }
cli-run-next-model = Correct the settings of the model endpoint.
# $agent, $run
cli-run-next-paused = Resume { $agent }: polis society resume { $run } --agent { $agent }
# $agent, $run
cli-run-next-limit = If { $agent } has used up its budget, raise it: polis society budget { $run }. Resume { $agent }: polis society resume { $run } --agent { $agent }
cli-run-next-continue = Then continue with: polis run --resume { $run }
cli-run-next-after-interruption = Nothing is lost. Continue with: polis run --resume { $run }

## Status block

cli-run-turn-count =
    { $count ->
        [one] 1 turn
       *[other] { $count } turns
    }

cli-run-token-count = { $tokens } tokens
cli-run-cost = cost { $amount }
cli-run-more-members = … and { $count } more
cli-run-idle = idle
cli-run-ready = ready
cli-run-thinking = thinking { $elapsed }

# $elapsed, $reason
cli-run-waiting-for-model = waiting for its model { $elapsed }: { $reason }

cli-run-member-needs-approval = needs approval
cli-run-member-paused = is paused
cli-run-member-parked = is parked
cli-run-member-idle = is idle
cli-run-member-continues = continues
cli-run-member-dismissed = was dismissed

# $status, $reason
cli-run-status-with-reason = { $status }: { $reason }

cli-run-seconds = { $seconds }s

## Lines of progress

# The name of the tool precedes these.
cli-run-call-failed = : refused or failed
cli-run-call-interrupted = : interrupted
cli-run-call-was-denied = : denied
cli-run-call-duration = {" "}({ $elapsed })

cli-run-model-awaited = waiting for its model: { $reason }
cli-run-warning = warning: { $text }

# $message: its id, $text
cli-run-message-to-person = to you (message { $message }): { $text }
