### Refusals about messages and mailboxes.

message-not-found = Message { $id } is neither in your mailbox nor from you.
    .hint = check the message id; you can reply only to messages that you received or sent

message-delay-too-long = A message can be delayed by at most 30 days.
    .hint = use a shorter delay

message-empty = The message is empty.
    .hint = send a text or a JSON value

message-too-long = The message is longer than 256 KiB.
    .hint = store the long part in an artifact, a board or a file, and send its name

message-too-deep = The message is nested too deeply, or contains an unpaired surrogate.
    .hint = send a flatter value with valid Unicode text

message-too-many-recipients = The message has more than 1,000 recipients.
    .hint = write it to a board that they read

message-no-recipient = The message has no recipient.
    .cli = { $in_run ->
        [true] list the members with `polis society tree`
       *[other] list the agents with `polis agent list`
    }; `user` is the person
    .tool = { $in_run ->
        [true] list the members with `get_org`
       *[other] list the agents with `list_agents`
    }; `user` is the person
    .http = { $in_run ->
        [true] list the members with `GET /v1/society/runs/{"{"}runId{"}"}/tree`
       *[other] list the agents with `GET /v1/agents`
    }; `user` is the person
    .screen = reload the page: it may no longer exist

message-no-agent-with-role = No active agent has the role { $role }.
    .cli = { $in_run ->
        [true] list the members with `polis society tree`
       *[other] list the agents with `polis agent list`
    }; `user` is the person
    .tool = { $in_run ->
        [true] list the members with `get_org`
       *[other] list the agents with `list_agents`
    }; `user` is the person
    .http = { $in_run ->
        [true] list the members with `GET /v1/society/runs/{"{"}runId{"}"}/tree`
       *[other] list the agents with `GET /v1/agents`
    }; `user` is the person
    .screen = reload the page: it may no longer exist

message-root-without-run = Root has a mailbox in every run, and the request names no run.
    .cli = { $in_run ->
        [true] list the members with `polis society tree`
       *[other] list the agents with `polis agent list`
    }; `user` is the person
    .tool = { $in_run ->
        [true] list the members with `get_org`
       *[other] list the agents with `list_agents`
    }; `user` is the person
    .http = { $in_run ->
        [true] list the members with `GET /v1/society/runs/{"{"}runId{"}"}/tree`
       *[other] list the agents with `GET /v1/agents`
    }; `user` is the person
    .screen = reload the page: it may no longer exist

message-recipient-retired = Agent "{ $agent }" is retired and cannot receive messages.
    .cli = { $in_run ->
        [true] list the members with `polis society tree`
       *[other] list the agents with `polis agent list`
    }; `user` is the person
    .tool = { $in_run ->
        [true] list the members with `get_org`
       *[other] list the agents with `list_agents`
    }; `user` is the person
    .http = { $in_run ->
        [true] list the members with `GET /v1/society/runs/{"{"}runId{"}"}/tree`
       *[other] list the agents with `GET /v1/agents`
    }; `user` is the person
    .screen = reload the page: it may no longer exist

message-recipient-in-other-run = Agent "{ $agent }" is a member of another run, and messages cannot cross runs.
    .cli = { $in_run ->
        [true] list the members with `polis society tree`
       *[other] list the agents with `polis agent list`
    }; `user` is the person
    .tool = { $in_run ->
        [true] list the members with `get_org`
       *[other] list the agents with `list_agents`
    }; `user` is the person
    .http = { $in_run ->
        [true] list the members with `GET /v1/society/runs/{"{"}runId{"}"}/tree`
       *[other] list the agents with `GET /v1/agents`
    }; `user` is the person
    .screen = reload the page: it may no longer exist

message-recipient-unknown = There is no agent "{ $agent }".
    .cli = { $in_run ->
        [true] list the members with `polis society tree`
       *[other] list the agents with `polis agent list`
    }; `user` is the person
    .tool = { $in_run ->
        [true] list the members with `get_org`
       *[other] list the agents with `list_agents`
    }; `user` is the person
    .http = { $in_run ->
        [true] list the members with `GET /v1/society/runs/{"{"}runId{"}"}/tree`
       *[other] list the agents with `GET /v1/agents`
    }; `user` is the person
    .screen = reload the page: it may no longer exist
