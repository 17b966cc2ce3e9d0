### What the commands about agents, their tokens and messages, webhooks, statistics and the log print.

# $id, $role, $layer
cli-agent-registered = Agent { $id } registered: { $role } in the { $layer } layer.

cli-agent-retired = Agent { $id } is retired.
cli-agent-none = No agents yet. Register one: polis agent add backend-1 --role backend-leader
cli-agent-column-layer = LAYER
cli-agent-column-supervisor = SUPERVISOR
cli-agent-column-name = NAME

# $id, $details: role, layer and whether it is retired
cli-agent-tree-entry = { $id } ({ $details })

## Tokens

# $agent, $scopes
cli-agent-token-issued = Token for { $agent } (scope: { $scopes }). Copy it now; it will not be shown again.

cli-agent-token-usage = Send it as `Authorization: Bearer TOKEN`; revoke it with `polis agent token revoke { $id }`.
cli-agent-tokens-revoked = Revoked: { $ids }.
cli-agent-token-none = No tokens yet. Issue one: polis agent token issue AGENT
cli-agent-token-column-scope = SCOPE
cli-agent-token-column-issued = ISSUED
cli-agent-token-column-expires = EXPIRES
cli-agent-token-active = active
cli-agent-token-expired = expired
cli-agent-token-revoked = revoked
cli-agent-token-of-browser = { $status } (browser)

## Messages

# $recipient, $id
cli-agent-message-recipient = { $recipient } (message { $id })

cli-agent-message-sent = Sent to { $recipients }.
cli-agent-message-none = No new messages for { $agent }.
cli-agent-message-more = There are more messages; check again.

# $id, $sender, $time
cli-agent-message-heading = { $id } from { $sender } at { $time }

# $id, $sender, $time, $answered
cli-agent-message-answer-heading = { $id } from { $sender } at { $time }, answering { $answered }

## Webhooks

cli-agent-webhook-secret = Secret of webhook { $id }, which signs its events. Copy it now; it will not be shown again.
cli-agent-webhook-removed = Webhook { $id } is removed.
cli-agent-webhook-none = No webhooks yet. Add one: polis webhook add https://...
cli-agent-webhook-column-kinds = KINDS
cli-agent-webhook-column-delivered = DELIVERED
cli-agent-webhook-column-failures = FAILURES
cli-agent-webhook-column-last-error = LAST ERROR
cli-agent-webhook-all-kinds = all

## Statistics and the log

# $pending, $in-progress, $completed, $deleted
cli-agent-stats-tasks = Tasks: { $pending } pending, { $in-progress } in progress, { $completed } completed, { $deleted } deleted

cli-agent-stats-agents = Agents: { $count }
cli-agent-stats-events = Events: { $count }
cli-agent-log-none = No events yet. Create a task: polis task create --subject "..."
cli-agent-log-no-match = No event matches. See all with: polis log
