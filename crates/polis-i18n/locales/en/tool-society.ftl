### Results of the society tools for models.

## Roles and hiring

# $name, $id
tool-society-role-created = Role { $name } is { $id }.
# $name, $id
tool-society-role-existed = Role { $name } is { $id } (it already existed).
# $name, $id, $prompt
tool-society-role-found = Role { $name } is { $id }: { $prompt }
tool-society-role-missing = There is no role with this name; create it with create_role.
# $id, $name
tool-society-role-line = { $id }: { $name }
tool-society-no-roles = No roles.
# $agent, $role, $next
tool-society-hired = Hired { $agent } as { $role }. { $next }
tool-society-first-message = { $agent } waits for its first message; send it one with send_message.
tool-society-none-dismissed = No member was dismissed.
# $agents, $messages, $tasks
tool-society-dismissed = Dismissed { $agents }; { $messages } dropped, { $tasks } released.
tool-society-unread-messages =
    { $count ->
        [one] { $count } unread message
       *[other] { $count } unread messages
    }
tool-society-tasks =
    { $count ->
        [one] { $count } task
       *[other] { $count } tasks
    }

## Members

tool-society-no-run-members = This run has no members.
tool-society-no-members = No members.
# $run, $status, $members
tool-society-org =
    Run { $run }, { $status }:
    { $members }
tool-society-reason = {" "}({ $reason })
tool-society-spent = , { $amounts }

## Runs

tool-society-run-started = Started run { $run }.
tool-society-no-runs = No runs.
# $run, $status, $agents, $requirement
tool-society-run-line = { $run }: { $status }, { $agents }: { $requirement }
# $run, $status
tool-society-run-status = Run { $run } is { $status }.
# $run, $status, $agents
tool-society-run-status-changed = Run { $run } is { $status }; changed: { $agents }.

## Budgets

# $agent, $limits
tool-society-budget = Budget of { $agent }: { $limits }.
tool-society-unlimited = unlimited
tool-society-milliseconds = { $count } ms
tool-society-money = { $amount } money
tool-society-tokens =
    { $count ->
        [one] { $count } token
       *[other] { $count } tokens
    }
tool-society-turns =
    { $count ->
        [one] { $count } turn
       *[other] { $count } turns
    }
tool-society-commands =
    { $count ->
        [one] { $count } command
       *[other] { $count } commands
    }

## Conversations

tool-society-empty-conversation = The conversation is empty.
tool-society-received = received: { $text }
# $prompt, $response, $duration, $text
tool-society-answered = answered [{ $prompt }+{ $response } tokens, { $duration } ms]: { $text }
# $tool, $arguments
tool-society-called = {"  "}calls { $tool }({ $arguments })
# $duration, $text
tool-society-tool-result = tool result [{ $duration } ms]: { $text }
tool-society-note = note: { $text }
tool-society-summary = summary: { $text }

## Approvals

tool-society-no-approvals = No approvals.
# $id, $agent, $call
tool-society-approval-pending = { $id } pending: { $agent } requests { $call }
# $id, $agent, $call
tool-society-approval-allowed = { $id } allowed: { $agent } requests { $call }
# $id, $agent, $call
tool-society-approval-denied = { $id } denied: { $agent } requests { $call }

## Reasons stored with a dismissal

tool-society-run-was-stopped = the run was stopped
