### Agents: roles, layers, statuses, pages.

agent-tokens-unit = token
agent-layer = 层级
agent-reports-to = 上级
agent-objective = 目标
agent-turns-unit = 回合
agent-spent = 消耗
agent-search-placeholder = 名称或角色
agent-include-retired = 包括已停用的智能体和已停止的运行
agent-registered-title = 已注册
agent-tasks-held = 持有任务
agent-below-column = 下级
agent-list-incomplete = 未显示全部，请搜索其他智能体。
agent-none-title = 还没有智能体
agent-none-explanation = 智能体认领任务、编写白板、运行命令。请注册一个，或启动一次运行，由它自行招募：
agent-not-registered = 未注册：仅有名称。
agent-reports-to-prefix = 上级：
agent-registered-prefix = 注册于{" "}
agent-view-tasks = 在任务板上查看
agent-spending-with-subordinates = 该智能体及其下级的花费
agent-hired-by-prefix = 招募者：
agent-resume = 恢复
agent-pause = 暂停
agent-including-subordinates = 包括全部下级

## Roles

agent-role-team-lead = 团队负责人
agent-role-product-manager = 产品经理
agent-role-architect = 架构师
agent-role-backend-leader = 后端负责人
agent-role-frontend-leader = 前端负责人
agent-role-client-leader = 客户端负责人
agent-role-test-leader = 测试负责人
agent-role-devops-leader = 运维负责人

## Layers

agent-layer-top = 顶层
agent-layer-mid = 中层
agent-layer-bottom = 底层

## Statuses

agent-status-working = 工作中
agent-status-active = 在用
agent-status-retired = 已停用
agent-status-idle = 空闲
agent-status-awaiting-approval = 等待审批
agent-status-parked = 已搁置
agent-status-dismissed = 已解聘

## Dismissal

agent-dismiss-explanation = 该智能体及其全部下级将被解聘，任务将被释放，未用预算退回，文件保留。
agent-dismiss-hired-by-it = 它招募的智能体：
agent-dismiss-question = 解聘 { $id }？
agent-dismiss-confirm = 确认解聘
agent-dismiss = 解聘

## Retirement

agent-retire-explanation = 停用后，该智能体不能再执行任何操作，其名称也不会再分配。停用前，它不得持有未完成的任务，也不得有下级。
agent-retire-question = 停用 { $id }？
agent-retire-confirm = 确认停用
agent-retire = 停用
