society-brief-without-objective = 任务说明书没有目标。
    .hint = 请设置 objective，最好还有 constraints、inputs、outputs 和 completionCriteria
    .screen = 请更正输入的内容

society-brief-too-long = 任务说明书超过 64 KiB。
    .hint = 请把较长的部分存为产物或文件，并在 references 中指明

society-only-person-decides-calls = 只有用户可以批准或拒绝调用。
    .hint = 请等待用户，或给 user 发消息

society-call-decided = 这次调用已被{ $outcome ->
        [allowed] 批准
       *[other] 拒绝
    }。
    .cli = 用 `polis society approvals` 列出待审批的调用
    .tool = 用 `list_approvals` 列出待审批的调用
    .http = 用 `GET /v1/society/approvals` 列出待审批的调用
    .screen = 请查看最新状态后再决定

society-approval-not-found = 没有审批 { $id }。
    .cli = 用 `polis society approvals` 列出待审批的调用
    .tool = 用 `list_approvals` 列出待审批的调用
    .http = 用 `GET /v1/society/approvals` 列出待审批的调用
    .screen = 请刷新页面：它可能已不存在

society-not-descendant = “{ $other }”不是“{ $caller }”的下级。
    .cli = 只有“{ $other }”的上级、用户和启动此运行的智能体可以这样做；`polis society tree` 列出成员
    .tool = 只有“{ $other }”的上级、用户和启动此运行的智能体可以这样做；`get_org` 列出成员
    .http = 只有“{ $other }”的上级、用户和启动此运行的智能体可以这样做；`GET /v1/society/runs/{"{"}runId{"}"}/tree` 列出成员
    .screen = 请找有权限的人处理

society-dismissed-cannot-hire = “{ $agent }”已被解聘，不能招募。
    .hint = 请停止调用工具；你已被解聘

society-root-has-child = 根智能体在一次运行中最多有一个直接下级，且已招募“{ $child }”。
    .hint = 请给“{ $child }”发消息，让它去招募；或先用 `terminate_agent` 解聘它
    .http = 请给“{ $child }”发消息，让它去招募；或先用 `DELETE /v1/society/agents/{"{"}agentId{"}"}` 解聘它
    .screen = 请查看最新状态后再决定

society-too-deep = “{ $agent }”位于第 { $depth } 层，最多 { $maximum } 层。
    .hint = 请自己完成工作，或请上级招募更多智能体

society-too-many-agents = 此次运行已达到 { $limit } 个智能体的上限。
    .hint = 请用 `terminate_agent` 解聘已完成工作的智能体，或把工作交给现有的智能体
    .http = 请用 `DELETE /v1/society/agents/{"{"}agentId{"}"}` 解聘已完成工作的智能体，或把工作交给现有的智能体
    .screen = 请查看最新状态后再决定

society-hiring-too-fast = 此次运行已达到每分钟招募 { $limit } 个的上限。
    .hint = 请先用现有的智能体继续工作，稍后再招募

society-invalid-agent-name = 智能体的显示名称须为 1 至 200 个字符，且不含控制字符。
    .hint = 请缩短名称、去掉控制字符，或不给出名称

society-run-stopped = 运行“{ $run }”已停止；所有成员都已解聘。
    .cli = 用 `polis run` 启动新的运行
    .tool = 请让用户启动新的运行
    .http = 用 `POST /v1/society/runs` 启动新的运行
    .screen = 请查看最新状态后再决定

society-run-done = 运行“{ $run }”已完成，不能暂停。
    .hint = 给它的一个成员发消息即可重新打开

society-run-not-found = 没有运行“{ $run }”。
    .cli = 用 `polis society ps` 列出运行
    .tool = 请核对 runId，或询问用户
    .http = 用 `GET /v1/society/runs` 列出运行
    .screen = 请刷新页面：它可能已不存在

society-invalid-run-id = 运行编号无效：{ $text }。
    .cli = 用 `polis society ps` 列出运行
    .tool = 请核对 runId，或询问用户
    .http = 用 `GET /v1/society/runs` 列出运行
    .screen = 请更正输入的内容

society-role-differs = 此运行已有角色 { $role }，但{ $differences }。
    .hint = 用 roleId { $role_id } 招募即可直接使用它，或选择其他名称
    .screen = 请查看最新状态后再决定

society-role-not-found = 此运行没有角色 { $name }。
    .hint = 用 `create_role` 创建，或用 `find_role_by_name` 查找其他角色
    .http = 用 `POST /v1/society/roles` 创建，或用 `GET /v1/society/roles` 查找其他角色
    .screen = 请刷新页面：它可能已不存在

society-invalid-role-name = 角色名称须为 1 至 100 个字符，且不含控制字符。
    .hint = 请给出简短的名称，如 "programmer"

society-invalid-role-prompt = 角色的提示词为空，或超过 64 KiB。
    .hint = 请在 rolePrompt 中说明此角色的智能体做什么
    .screen = 请更正输入的内容

society-too-many-role-tools = 角色最多有 100 个工具或工具组的名称。
    .hint = 请减少数量，或省略 tools

society-invalid-temperature = temperature 须为 0 到 2 之间的数。
    .hint = 请取此范围内的数，或省略

society-not-plain-text = 无法作为文本保存：{ $error }
    .hint = 请使用纯文本

society-member-cannot-start-run = “{ $agent }”是运行“{ $run }”的成员，不能启动另一次运行。
    .hint = 用 `spawn_agent` 招募智能体
    .http = 用 `POST /v1/society/agents` 招募智能体
    .screen = 请找有权限的人处理

society-invalid-requirement = 需求为空，或超过 128 KiB。
    .hint = 请描述需求；较长的文本请放入工作空间的文件并指明文件名

society-too-many-listed = 角色或工具超过 100 个，或团队名称过长。
    .hint = 请减少数量；角色可以稍后用 `create_role` 创建
    .http = 请减少数量；角色可以稍后用 `POST /v1/society/roles` 创建
    .screen = 请更正输入的内容

society-role-twice = 两个角色的名称都是 { $role }。
    .hint = 请给每个角色不同的名称

role-difference-prompt = 提示词不同
role-difference-tools = 工具不同
role-difference-model = 模型不同
role-difference-approve = 需审批的工具不同
