### Results of the tools for the event log, the overview and webhooks, for models.

tool-event-none = No events.
# $pending, $running, $completed, $agents, $events
tool-event-overview = Tasks: { $pending } pending, { $running } in progress, { $completed } completed. Agents: { $agents }. Events: { $events }.
# $id, $secret
tool-event-webhook-added = Webhook { $id } added; its secret is { $secret }
tool-event-no-webhooks = No webhooks.
tool-event-webhook-removed = Webhook { $id } removed.
