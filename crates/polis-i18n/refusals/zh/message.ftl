message-not-found = 消息 { $id } 既不在你的收件箱里，也不是你发出的。
    .hint = 请核对消息编号；只能回复收到或发出的消息

message-delay-too-long = 消息最多延迟 30 天。
    .hint = 请缩短延迟

message-empty = 消息为空。
    .hint = 请发送文本或 JSON 值

message-too-long = 消息超过 256 KiB。
    .hint = 请把较长的部分存为产物、写入白板或文件，然后发送其名称

message-too-deep = 消息嵌套过深，或含有不成对的代理项。
    .hint = 请发送嵌套较浅、Unicode 有效的值

message-too-many-recipients = 消息的收件人超过 1,000 个。
    .hint = 请写到他们会读取的白板上

message-no-recipient = 消息没有收件人。
    .cli = { $in_run ->
        [true] 用 `polis society tree` 列出成员
       *[other] 用 `polis agent list` 列出智能体
    }；`user` 是用户
    .tool = { $in_run ->
        [true] 用 `get_org` 列出成员
       *[other] 用 `list_agents` 列出智能体
    }；`user` 是用户
    .http = { $in_run ->
        [true] 用 `GET /v1/society/runs/{"{"}runId{"}"}/tree` 列出成员
       *[other] 用 `GET /v1/agents` 列出智能体
    }；`user` 是用户
    .screen = 请刷新页面：它可能已不存在

message-no-agent-with-role = 没有在用的智能体具有角色 { $role }。
    .cli = { $in_run ->
        [true] 用 `polis society tree` 列出成员
       *[other] 用 `polis agent list` 列出智能体
    }；`user` 是用户
    .tool = { $in_run ->
        [true] 用 `get_org` 列出成员
       *[other] 用 `list_agents` 列出智能体
    }；`user` 是用户
    .http = { $in_run ->
        [true] 用 `GET /v1/society/runs/{"{"}runId{"}"}/tree` 列出成员
       *[other] 用 `GET /v1/agents` 列出智能体
    }；`user` 是用户
    .screen = 请刷新页面：它可能已不存在

message-root-without-run = 根智能体在每次运行中都有收件箱，而请求没有指明运行。
    .cli = { $in_run ->
        [true] 用 `polis society tree` 列出成员
       *[other] 用 `polis agent list` 列出智能体
    }；`user` 是用户
    .tool = { $in_run ->
        [true] 用 `get_org` 列出成员
       *[other] 用 `list_agents` 列出智能体
    }；`user` 是用户
    .http = { $in_run ->
        [true] 用 `GET /v1/society/runs/{"{"}runId{"}"}/tree` 列出成员
       *[other] 用 `GET /v1/agents` 列出智能体
    }；`user` 是用户
    .screen = 请刷新页面：它可能已不存在

message-recipient-retired = 智能体“{ $agent }”已停用，不能接收消息。
    .cli = { $in_run ->
        [true] 用 `polis society tree` 列出成员
       *[other] 用 `polis agent list` 列出智能体
    }；`user` 是用户
    .tool = { $in_run ->
        [true] 用 `get_org` 列出成员
       *[other] 用 `list_agents` 列出智能体
    }；`user` 是用户
    .http = { $in_run ->
        [true] 用 `GET /v1/society/runs/{"{"}runId{"}"}/tree` 列出成员
       *[other] 用 `GET /v1/agents` 列出智能体
    }；`user` 是用户
    .screen = 请刷新页面：它可能已不存在

message-recipient-in-other-run = 智能体“{ $agent }”属于另一次运行，消息不能跨运行发送。
    .cli = { $in_run ->
        [true] 用 `polis society tree` 列出成员
       *[other] 用 `polis agent list` 列出智能体
    }；`user` 是用户
    .tool = { $in_run ->
        [true] 用 `get_org` 列出成员
       *[other] 用 `list_agents` 列出智能体
    }；`user` 是用户
    .http = { $in_run ->
        [true] 用 `GET /v1/society/runs/{"{"}runId{"}"}/tree` 列出成员
       *[other] 用 `GET /v1/agents` 列出智能体
    }；`user` 是用户
    .screen = 请刷新页面：它可能已不存在

message-recipient-unknown = 没有智能体“{ $agent }”。
    .cli = { $in_run ->
        [true] 用 `polis society tree` 列出成员
       *[other] 用 `polis agent list` 列出智能体
    }；`user` 是用户
    .tool = { $in_run ->
        [true] 用 `get_org` 列出成员
       *[other] 用 `list_agents` 列出智能体
    }；`user` 是用户
    .http = { $in_run ->
        [true] 用 `GET /v1/society/runs/{"{"}runId{"}"}/tree` 列出成员
       *[other] 用 `GET /v1/agents` 列出智能体
    }；`user` 是用户
    .screen = 请刷新页面：它可能已不存在
