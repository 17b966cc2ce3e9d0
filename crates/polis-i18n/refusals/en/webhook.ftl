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

## Problems of deliveries

delivery-invalid-url = The webhook's URL is not valid.
delivery-answered = The receiver answered { $status }.
delivery-redirected = The receiver answered { $status } (redirects are not followed).
delivery-no-connection = No connection: { $cause }.
delivery-tls-handshake-failed = TLS handshake failed: { $detail }.
delivery-response-timeout = No response within { $seconds } s.
delivery-invalid-response = No response: the response is not valid HTTP.
delivery-connection-closed = No response: the connection was closed.

connection-refused = connection refused
connection-reset = connection reset
connection-host-unreachable = host unreachable
connection-network-unreachable = network unreachable
connection-timed-out = timed out
connection-timeout = the connection timed out
connection-proxy-unreachable = its proxy cannot be reached
connection-tunnel-refused = its proxy refused the tunnel
connection-other = { $detail }
