### Refusals of event streams and their filters.

event-not-a-kind = { $kind } is not an event kind.
    .cli = use kinds as shown by `polis log`, such as task.completed, or task. for all task events
    .tool = use kinds as shown by `read_log`, such as task.completed, or task. for all task events
    .http = use kinds as shown by `GET /v1/log`, such as task.completed, or task. for all task events
    .screen = correct the input

event-too-many-entries = A filter list may have at most { $limit } entries.
    .hint = use fewer entries, or a prefix such as task. for a whole group

event-filter-too-long = A filter parameter may have at most { $limit } bytes.
    .hint = use fewer entries, or a prefix such as task. for a whole group

event-too-many-readers = The server has reached its maximum number of event readers.
    .hint = retry later, or read the log in pages with GET /v1/log

event-not-yet-logged = There is no event { $since }: the log ends at { $head }.
    .hint = omit Last-Event-ID and since to start now, or use 0 to read everything

event-query-not-utf8 = The URL has a query parameter that is not UTF-8.
    .hint = encode it as UTF-8, then percent-encode it

event-not-a-position = { $name } is { $value }, which is not a position in the log.
    .hint = use the seq of the last event you received, or 0 to read everything

event-not-a-limit = limit is { $value }, which is not a number of events.
    .hint = use a whole number, at least 1

event-unknown-parameter = { $name } is not a parameter of /v1/events.
    .hint = use since, limit, kind, subject or actor
