### Refusals about webhooks.

webhook-not-found = There is no webhook { $id }.
    .cli = list the webhooks with `polis webhook list`
    .tool = list the webhooks with `list_webhooks`
    .http = list the webhooks with `GET /v1/webhooks`
    .screen = reload the page: it may no longer exist

webhook-only-person-manages = Permission denied: only the person may see and change webhooks.
    .hint = ask the person who runs this polis

webhook-invalid-kind = { $kind } is not an event kind.
    .cli = name kinds as `polis log` shows them, such as task.completed, or task. for all of them
    .tool = name kinds as `read_log` shows them, such as task.completed, or task. for all of them
    .http = name kinds as `GET /v1/log` shows them, such as task.completed, or task. for all of them
    .screen = correct the input

webhook-too-many = The maximum number of webhooks is reached.
    .cli = remove one with `polis webhook remove ID`
    .tool = remove one with `remove_webhook`
    .http = remove one with `DELETE /v1/webhooks/{"{"}id{"}"}`
    .screen = correct the input

webhook-invalid-url = The webhook's address is not an http:// or https:// URL.
    .hint = give one such as https://example.org/polis
