### Output of `polis society`: runs, members, budgets, call approvals, conversations, teams.

## Lists

cli-society-run-column = 运行
cli-society-agents-column = 智能体数
cli-society-hired-column = 招募数
cli-society-team-column = 团队
cli-society-duration-column = 用时
cli-society-requirement-column = 需求
cli-society-turns-column = 回合数
cli-society-tokens-column = token 数
cli-society-task-column = 工作目标
cli-society-created-by-column = 创建者
cli-society-tools-column = 工具
cli-society-prompt-column = 提示词
cli-society-money-column = 费用
cli-society-commands-column = 命令数
cli-society-time-column = 时限
cli-society-tool-column = 工具
cli-society-arguments-column = 参数
cli-society-built-in-column = 内置
cli-society-files-column = 本项目的文件

## Runs and members

cli-society-no-run = 还没有运行。用 `polis run "需求"` 启动一次，或观看 `polis demo`。
cli-society-no-active-run = 当前没有运行。用 `polis run "需求"` 启动一次；`polis society ps --all` 也会列出已停止的运行。
cli-society-status-active = 运行中
cli-society-status-paused = 已暂停
cli-society-status-done = 已完成
cli-society-status-stopped = 已停止
cli-society-status-working = 工作中
cli-society-status-asking = 等待审批
cli-society-status-parked = 已搁置
cli-society-status-dismissed = 已解聘
cli-society-no-roles = 运行 { $run } 还没有角色，由其智能体创建。
cli-society-all-tools = 全部

## Control

cli-society-sent = 已发送给 { $agent }（消息 { $message }）。该智能体会在下一步骤读取它。
cli-society-run-paused = 运行 { $run } 已暂停，直到执行 `polis society resume { $run }`。
cli-society-run-resumed = 运行 { $run } 已恢复。
cli-society-no-status-changed = 没有智能体的状态发生变化。
cli-society-run-stopped = 运行 { $run } 已停止，全部智能体已解聘。文件保留；`polis society log 智能体` 仍可显示对话。

## Budgets

cli-society-budget-set = 运行 { $run } 中 { $agent } 的预算：{ $limits }。
cli-society-budget-resume-hint = 如果它因达到上限而暂停，请用以下命令恢复：polis society resume { $run } --agent { $agent }
cli-society-budget-explanation = 每个智能体及其全部下级的花费与上限。用 --budget-tokens 等选项设置上限。
cli-society-spent-of-limit = { $spent } / { $limit }
cli-society-limit-money = 费用 { $money }
cli-society-limit-turns = { $count } 个回合
cli-society-limit-commands = { $count } 条命令
cli-society-limit-time = 时间 { $duration }
cli-society-no-limit = 无上限

## Call approvals

cli-society-no-approvals = 没有等待审批的调用。polis.toml 中的 `society.approve` 列出需要审批的工具。
cli-society-approvals-hint = polis society approve 编号，或 polis society deny 编号 --note 备注
cli-society-approval-pending = 待审批
cli-society-approval-allowed-by = 由 { $person } 批准
cli-society-approval-denied-by = 由 { $person } 拒绝

## Conversations

cli-society-no-turns = { $agent } 还没有回合：它正在等待第一条消息。
cli-society-earlier-turns = （前面还有 { $count } 个回合：--from 0）
cli-society-turn = 回合 { $turn }
cli-society-later-turns = （更多：--from { $turn }）
cli-society-log-input = 输入
cli-society-log-answer = 回答
cli-society-log-call = 调用
cli-society-log-usage = 用量
cli-society-log-result = 结果
cli-society-log-failed = 失败
cli-society-log-interrupted = 已中断
cli-society-log-denied = 被拒绝
cli-society-log-notice = 通知
cli-society-log-summary = 摘要
cli-society-usage = 输入 { $prompt } token，输出 { $response }，用时 { $milliseconds } 毫秒
cli-society-usage-estimated = 约输入 { $prompt } token，输出 { $response }，用时 { $milliseconds } 毫秒
cli-society-usage-cost = ，费用 { $money }
cli-society-usage-attempts = ，尝试 { $count } 次
cli-society-usage-model = ，{ $model }
cli-society-in-parentheses = （{ $text }）
cli-society-lines-omitted = …… 还有 { $count } 行（--full）

## Teams

cli-society-built-in = 是
cli-society-not-built-in = 否
cli-society-team-tools = 工具：{ $tools }
cli-society-team-model = 模型：{ $model }
cli-society-default-model = 默认
cli-society-file-written = 已写入 { $file }
cli-society-file-kept = 已保留 { $file }
cli-society-edit-team-files = 编辑这些文件后，此后启动的运行会使用它们。
