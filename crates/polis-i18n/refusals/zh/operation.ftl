operation-response-unknown = 先前使用此键的请求仍在运行或已中断，结果不明。
    .hint = 请确认更改是否已生效；若未生效，请用新的键重新执行

operation-key-reused = 此键已用于另一个请求。
    .hint = 每个请求请用新的键；只有重复完全相同的请求才重用键

operation-invalid-key = 幂等键须为 1 至 255 个可见的 ASCII 字符。
    .hint = 每个请求请用随机的键，如 UUID

operation-board-log-damaged = 白板 { $board } 的日志已损坏。
    .cli = 请从备份恢复存储；`polis doctor` 会检查它
    .tool = 请告知运行 polis 的人从备份恢复存储
    .screen = 请重试；如仍失败，请查看服务器日志

operation-board-version-not-found = 白板 { $board } 没有版本 { $version }，或历史中已不再保留。
    .cli = 用 `polis board history { $board }` 列出其版本
    .tool = 用 `whiteboard_history` 列出其版本
    .http = 用 `GET /v1/boards/{"{"}board{"}"}/history` 列出其版本
    .screen = 请刷新页面：它可能已不存在

operation-no-project-directory = 没有存放工作空间的项目目录。
    .cli = 请在你的项目中运行 `polis init`，或用 --dir 指定其目录
    .tool = 请让运行 polis 的人在你的项目中设置它
    .screen = 请刷新页面：它可能已不存在

operation-agent-not-registered = 智能体“{ $id }”未注册。
    .cli = 用 `polis agent list` 列出已注册的智能体，或用 `polis agent add` 注册它
    .tool = 用 `list_agents` 列出已注册的智能体，或让人注册它
    .http = 用 `GET /v1/agents` 列出已注册的智能体，或让人注册它
    .screen = 请从智能体列表中选择

operation-blackboard-file-not-found = 黑板没有文件 { $path }。
    .cli = 请核对路径；`polis blackboard list` 列出文件
    .tool = 请核对路径；`whiteboard_list` 列出文件
    .http = 请核对路径；`GET /v1/boards` 列出文件
    .screen = 请刷新页面：它可能已不存在

operation-blackboard-file-locked = { $path } 被另一个程序锁定。
    .hint = 请稍后重试，或查明哪个程序打开了它

operation-decision-field-missing = 缺少 `{ $field }`。
    .hint = 请传入 `{ $field }`：{ $field ->
        [id] 决策的编号，如 3
       *[other] 决策的内容
    }

operation-decision-field-inapplicable = `{ $field }` 不适用于此操作。
    .hint = propose 接受 content 和 milestone；其他操作接受 id，veto 还接受 reason

operation-invalid-board-cursor = { $cursor } 不是有效的游标。
    .hint = 请传入上一页的 `next`，或省略游标

operation-nothing-to-append = 没有要追加的内容。
    .cli = 请给出 --content 文字
    .tool = 请给出 content
    .screen = 请更正输入的内容

operation-webhook-damaged = 存储的 Webhook 无法读取。
    .hint = 请重新注册

operation-artifact-damaged = 存储中的产物无法读取。
    .hint = 请以另一类型重新存储

operation-person-mailbox = 只有用户可以读取此收件箱。
    .hint = 用 check_messages 读取你自己的消息
    .screen = 请找有权限的人处理

operation-too-many-read = 一次最多把 { $max_page_size } 条消息标为已读。
    .hint = 请减少 ids 的数量

operation-budget-exhausted = “{ $owner }”的预算已用完（上限：{ $amount }{ $resource ->
        [money] 货币单位
        [tokens] { " " }token
        [token] { " " }token
        [turns] 回合
        [turn] 回合
       *[other] 条命令
    }）。
    .cli = 用 `polis society budget` 提高预算，然后用 `polis society resume` 恢复
    .tool = 请让用户提高预算并恢复你的运行
    .screen = 请提高预算，然后恢复

operation-turn-damaged = 对话的一个回合无法读取。
    .cli = 请运行 `polis doctor`；可能由更高版本的 polis 写入
    .tool = 请告知运行 polis 的人：可能由更高版本写入
    .screen = 请重试；如仍失败，请查看服务器日志

operation-society-record-damaged = 智能体社会的一条记录无法读取。
    .cli = 请运行 `polis doctor`；可能由更高版本的 polis 写入
    .tool = 请告知运行 polis 的人：可能由更高版本写入
    .screen = 请重试；如仍失败，请查看服务器日志

operation-root-of-stopped-run = 运行“{ $id }”已停止，其根智能体不再接收消息。
    .hint = 请启动新的运行，或选择其他收件人

operation-no-run-named = 请求没有指明运行。
    .cli = 请指明运行；`polis society ps` 列出运行
    .tool = 请传入 runId；如果没有消息告知，请询问用户
    .http = 请传入 runId；`GET /v1/society/runs` 列出运行
    .screen = 请刷新页面：它可能已不存在

operation-not-a-member = “{ $agent }”不是任何运行的成员。
    .cli = 用 `polis society tree` 列出成员
    .tool = 用 `get_org` 列出成员
    .http = 用 `GET /v1/society/runs/{"{"}runId{"}"}/tree` 列出成员
    .screen = 请从智能体列表中选择

operation-neither-member-nor-run = 既没有指明成员，也没有指明运行。
    .hint = 请传入 agentId；若针对整次运行，请传入 runId
    .screen = 请更正输入的内容

operation-unregistered-cannot-hire = “{ $agent }”不是已注册的智能体，不能招募。
    .cli = 请先注册它：`polis agent add`
    .tool = 请先让人注册它
    .screen = 请更正输入的内容

operation-no-role-given = 没有给出新智能体的角色。
    .hint = 请传入 roleId，来自 `create_role` 或 `find_role_by_name`
    .http = 请传入 roleId，来自 `POST /v1/society/roles` 或 `GET /v1/society/roles`
    .screen = 请更正输入的内容

operation-run-name-taken = 已有名为“{ $id }”的运行或智能体。
    .hint = 请选择其他名称，或省略

operation-no-ready-task = 没有适合“{ $agent }”（{ $role }）的就绪任务。
    .cli = 用 `polis task list` 列出任务，用 `polis task graph` 查看它们被什么阻塞
    .tool = 用 `TaskList` 列出任务，用 `TaskGet` 查看每个任务被什么阻塞
    .http = 用 `GET /v1/tasks` 列出任务，用 `GET /v1/tasks/{"{"}taskId{"}"}` 查看每个任务被什么阻塞
    .screen = 请在任务列表中查看未完成的任务及其依赖

operation-no-ready-task-for-stranger = 没有适合“{ $agent }”的就绪任务；它既不是已注册的智能体，也不是角色。
    .cli = 请以已注册的智能体身份操作（`polis agent list` 会列出），或使用角色名：{ $roles }
    .tool = 请以已注册的智能体身份操作（`list_agents` 会列出），或使用角色名：{ $roles }
    .http = 请以已注册的智能体身份操作（`GET /v1/agents` 会列出），或使用角色名：{ $roles }
    .screen = 请在任务列表中查看未完成的任务及其依赖

operation-file-changed-during-import = { $file } 在导入期间被改动：{ $reason }。未导入任何内容。
    .hint = 请在没有程序写入该目录时重新导入

operation-import-faults =
    发现 { $count } 处错误；未导入任何内容。{ $list }
    .cli = 请修正文件，或不加 --strict 导入，以修复或跳过它们
    .tool = 请修正文件
    .screen = 请更正输入的内容

operation-sign-in-key-damaged = 存储的登录密钥无法读取。
    .cli = 运行 `polis open` 获取新链接
    .tool = 请向运行 polis 的人索取新链接
    .screen = 请重试；如仍失败，请查看服务器日志

operation-token-damaged = 存储的令牌无法读取。
    .hint = 请吊销它并签发新的令牌

operation-command-damaged = 一条命令的记录无法读取。
    .cli = 请运行 `polis doctor`；可能由更高版本的 polis 写入
    .tool = 请告知运行 polis 的人：可能由更高版本写入
    .screen = 请重试；如仍失败，请查看服务器日志

operation-command-not-found = 没有命令 { $id }，或你无权查看。
    .cli = 用 `polis ws commands` 列出命令
    .tool = 用 `list_commands` 列出命令
    .http = 用 `GET /v1/commands` 列出命令
    .screen = 请刷新页面：它可能已不存在

operation-command-cancelled = 命令已取消，因为调用方不再等待。
    .hint = 如需结果，请重新运行

operation-command-timeout = 命令在 { $timeout_ms } 毫秒后超时。
    .cli = 请用 --timeout-ms 提高超时，或把工作拆成较短的命令
    .tool = 请用 timeoutMs 提高超时，或把工作拆成较短的命令
    .screen = 请稍候再试

operation-only-registered-agents = “{ $id }”不是已注册的智能体，而此项目只允许已注册的智能体。
    .cli = 请用 `polis agent list` 核对拼写，或让人注册它
    .tool = 请用 `list_agents` 核对拼写，或让人注册它
    .http = 请用 `GET /v1/agents` 核对拼写，或让人注册它
    .screen = 请找有权限的人处理

operation-too-many-conflicts = 已超时，因为其他提交不断更改相同的记录；未作任何更改。
    .hint = 请重试；如仍发生，请减少并发的写入者
