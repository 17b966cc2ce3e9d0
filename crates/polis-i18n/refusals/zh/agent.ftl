agent-fixed-name = “{ $agent }”是保留名称，不能注册。
    .hint = 请选择其他名称

agent-already-registered = 智能体“{ $agent }”已注册。
    .cli = 用 `polis agent show { $agent }` 查看它，或选择其他名称
    .tool = 用 `list_agents` 查看它，或选择其他名称
    .http = 用 `GET /v1/agents` 查看它，或选择其他名称
    .screen = 请查看最新状态后再决定

agent-differs-by-case = 智能体“{ $agent }”与“{ $other }”仅大小写不同。
    .hint = 请选择其他名称

agent-invalid-name = 智能体的显示名称须为 1 至 200 个字符，且不含控制字符。
    .hint = 请缩短名称，或去掉控制字符

agent-supervisor-unknown = 上级“{ $supervisor }”不是已注册的智能体。
    .cli = 请先注册上级：`polis agent add`
    .tool = 请先注册上级：`add_agent`
    .http = 请先注册上级：`POST /v1/agents`
    .screen = 请更正输入的内容

agent-supervisor-retired = 上级“{ $supervisor }”已停用。
    .hint = 请指定在用的智能体

agent-supervisor-in-run = 上级“{ $supervisor }”是某次运行的成员；智能体只能通过招募加入运行。
    .hint = 请指定不属于任何运行的上级

agent-supervisor-below = 上级“{ $supervisor }”的层级是 { $supervisor_layer }，低于新智能体的层级 { $layer }。
    .hint = 请指定同级或更高层级的上级

agent-retire-member = 智能体“{ $agent }”是运行“{ $run }”的成员。
    .cli = 请停止它所在的运行：`polis society stop { $run }`
    .tool = 用 `terminate_agent` 解聘它及其所有下级
    .http = 用 `DELETE /v1/society/agents/{"{"}agentId{"}"}` 解聘它及其所有下级
    .screen = 请先释放它的任务，并解聘或停用它的下级

agent-retire-owner = 智能体“{ $agent }”仍持有 { $count } 个未完成的任务，包括 #{ $task }。
    .cli = 请先释放：`polis task release { $task }`
    .tool = 请先释放：调用 `TaskUpdate`，给出其 taskId 和 owner=""
    .http = 请先释放：调用 `PATCH /v1/tasks/{"{"}taskId{"}"}`，给出其 taskId 和 owner=""
    .screen = 请先释放它的任务，并解聘或停用它的下级

agent-retire-supervisor = 智能体“{ $agent }”仍有 { $count } 个在用的下级，包括“{ $report }”。
    .cli = 请先停用它的下级：`polis agent retire { $report }`
    .tool = 请先停用它的下级：`retire_agent`
    .http = 请先停用它的下级：`DELETE /v1/agents/{"{"}id{"}"}`
    .screen = 请先释放它的任务，并解聘或停用它的下级

agent-retired-caller = 没有权限：智能体“{ $id }”已停用，不能再操作。
    .cli = 用 `polis agent add` 注册新的智能体；已停用的名称不会重新启用
    .tool = 请让人注册新的智能体；已停用的名称不会重新启用
    .screen = 请找有权限的人处理

agent-invalid-id = 智能体名称无效：{ $text }。
    .hint = 请使用字母、数字、“-”“_”和“.”，以字母或数字开头，最多 200 字节

agent-invalid-role = 角色无效：{ $role }。有效的角色：{ $roles }。
    .hint = 请使用有效的角色，或在 .agent-workspace/polis.toml 的 `roles` 中添加

agent-invalid-required-role = requiredRole 无效：{ $role }。有效的角色：{ $roles }。
    .text-cli = 所需角色无效：{ $role }。有效的角色：{ $roles }。
    .text-screen = 所需角色无效：{ $role }。有效的角色：{ $roles }。
    .hint = 请使用有效的角色，或在 .agent-workspace/polis.toml 的 `roles` 中添加

agent-no-permission = 没有权限。“{ $agent }”（{ $role }）没有 { $permission } 权限。
    .hint = 请找团队负责人，或在 .agent-workspace/rbac.yaml 中授予 { $role } 权限 { $permission }

agent-no-permission-by-default = 没有权限。“{ $agent }”（{ $role }）没有 { $permission } 权限。
    .hint = 请让团队负责人或用户来做

agent-held-by-other-session = 任务 #{ $task } 由“{ $agent }”的另一个在线会话持有。
    .cli = 请认领其他任务（`polis task claim` 会选取最合适的就绪任务）
    .tool = 请认领其他任务（`TaskClaim` 不带 taskId 会选取最合适的就绪任务）
    .http = 请认领其他任务（`POST /v1/tasks/claim` 不带 taskId 会选取最合适的就绪任务）
    .screen = 请选择其他任务，或等那个会话结束
