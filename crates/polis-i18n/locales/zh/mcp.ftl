### MCP：面向模型及其客户端的服务器说明、提示词、资源和协议错误。

mcp-instructions = 你是 { $agent }，所在团队共享任务、白板和消息。下列名称都是 polis 服务器的工具，即使你的程序自带同名工具。用 TaskList（owner={ $agent }）查看你的任务，或用 TaskClaim 认领下一个；完成后用 TaskUpdate（status=completed）。团队的共享知识记录在白板上：用 whiteboard_read 阅读 `global`，用 whiteboard_append 追加。本服务器的文件和命令工具在你的 polis 工作空间中运行。请求被拒绝时会给出错误代码和下一步建议。

## 提示词：标题、说明、参数

mcp-claim-next-title = 认领下一个任务
mcp-claim-next-description = 认领最合适的就绪任务并开始工作
mcp-claim-next-role = 只看该角色可见的任务
mcp-hand-over-title = 移交任务
mcp-hand-over-description = 移交任务，使接手者能立即继续
mcp-hand-over-task = 任务编号
mcp-hand-over-agent = 接手的智能体
mcp-hand-over-note = 不可遗漏的事项
mcp-stand-up-title = 站会报告
mcp-stand-up-description = 报告已完成的工作、下一步计划和阻塞事项
mcp-stand-up-board = 报告写入的白板；默认为自己的白板

## 提示词：正文

mcp-prompt-with-tool-origin =
    { $prompt }
    以上工具都是 polis 服务器的工具，即使你的程序自带同名工具。

mcp-claim-next-text =
    认领下一个任务并开始工作。
    1. 调用 TaskClaim，不带 taskId：得到最合适的就绪任务。若返回 nothing_to_claim，说明情况并停止。
    2. 阅读任务描述，并用 whiteboard_read 阅读其中提到的白板。
    3. 用 TaskComment 写一句话说明做法，然后开始工作。
    4. 完成并检查后调用 TaskUpdate，status=completed；若无法完成，用 TaskComment 说明原因。

mcp-claim-next-for-role-text =
    为角色 { $role } 认领下一个任务并开始工作。
    1. 调用 TaskList，roleFilter={ $role }，ready=true。若没有任务，说明情况并停止。
    2. 选择阻塞其他任务最多的任务，用 TaskGet 阅读，再用其 taskId 调用 TaskClaim。若返回 already_claimed，另选一个。
    3. 用 TaskComment 写一句话说明做法，然后开始工作。
    4. 完成并检查后调用 TaskUpdate，status=completed；若无法完成，用 TaskComment 说明原因。

mcp-hand-over-text =
    把任务 { $task } 移交给 { $agent }。
    1. 调用 TaskGet，taskId={ $task }，了解当前进展。
    2. 调用 TaskComment，taskId={ $task }：已完成什么、还剩什么、涉及哪些文件、有哪些发现。{ $note }
    3. 调用 TaskUpdate，taskId={ $task }，owner={ $agent }，expectedVersion 用刚读到的版本。若被拒绝，按提示处理。
    4. 用 send_message 通知 { $agent }，一句话，写明任务编号。

mcp-hand-over-note-text = 不可遗漏：{ $note }

mcp-stand-up-text =
    撰写 { $agent } 的站会报告。
    1. 调用 TaskList，owner={ $agent }；再调用 check_messages。
    2. 用三个标题写不超过 12 行：已完成、下一步、阻塞。写明任务编号以及谁能帮忙。
    3. 调用 whiteboard_append，board={ $board }，内容为上述文本。

## 资源

mcp-tasks-name = 任务列表
mcp-tasks-description = 现在可认领的任务
mcp-task-name = 任务 { $id }
mcp-task-description = 团队的一个任务
mcp-global-board-description = 全团队的白板
mcp-top-board-description = 顶层的白板
mcp-role-board-description = 角色 { $role } 的白板
mcp-agent-board-description = 智能体 { $agent } 的白板
mcp-blackboard-description = 黑板中的文件
mcp-board-template = 白板：global、top、mid/ROLE 或 bottom/AGENT
mcp-task-template = 一个任务
mcp-file-template = 你的工作空间中的文件
mcp-text-truncated = 已截断：显示 { $shown } 字节，共 { $size } 字节；读取其余部分请调用 { $call }，offset={ $next }
mcp-file-truncated = 已截断：显示 { $shown } 字节，共 { $size } 字节；读取其余部分请调用 read_file，startLine={ $line }
mcp-call-with = { $tool }，{ $parameter }

## 协议错误

mcp-invalid-parameters = { $method } 的参数无效。
mcp-invalid-tool-call = tools/call 的参数无效。请传入 `name`（tools/list 中的工具名称）和 `arguments`（对象）。
mcp-unknown-method = 此协议版本没有方法 { $method }。请使用其规范中的方法，如 tools/list、tools/call、resources/list 或 prompts/list。
mcp-line-too-long = 该行超过 { $limit } 字节。
mcp-line-not-json = 该行不是 JSON：{ $error }。
mcp-line-is-batch = 每行必须恰好是一条消息：协议没有批处理。
mcp-line-not-json-rpc = 该行不是 JSON-RPC 2.0 消息。
