### `polis run`: the live view, the lines that the person types, the summary.

## Start

cli-run-detached =
    运行 { $run } 已启动。此存储上有 `polis serve` 在运行时，将由它驱动。
    用 `polis society tree { $run }` 查看，或用 `polis run --resume { $run }` 在此处驱动。

cli-run-project-created = 已在此处创建 { $directory }，与 `polis init` 相同。
cli-run-started = 运行 { $run } 已启动。可直接输入回答，输入 /help 查看更多命令。按 Ctrl-C 中断运行；`polis run --resume` 可恢复。
cli-run-resumed = 运行 { $run } 已恢复。可直接输入回答，输入 /help 查看更多命令。按 Ctrl-C 中断运行；`polis run --resume` 可恢复。

## Lines that the person types

cli-run-input-help =
    文字                回答最早的待答问题，没有时回复最近来信的智能体
    @智能体 文字        给某个智能体发消息
    /approve [编号]     批准最早的待审批调用，或指定的调用
    /deny [编号] [理由] 拒绝该调用
    /pause [智能体]     暂停某个智能体，或整个运行
    /resume [智能体]    恢复某个智能体，或整个运行
    /quit               离开本次运行；`polis run --resume` 可恢复

cli-run-unknown-input = 未知命令：{ $text }。输入 /help 查看全部命令。
cli-run-message-sent = 您 → { $agent }：{ $text }
cli-run-no-pending-call = 没有待审批的调用。
cli-run-call-approved = 已批准 { $agent } 对 { $tool } 的调用。
cli-run-call-denied = 已拒绝 { $agent } 对 { $tool } 的调用。
cli-run-paused = 运行已暂停，输入 /resume 恢复。
cli-run-continued = 运行已恢复。
cli-run-agent-not-pausable = 现在不能暂停 { $agent }。
cli-run-agent-not-paused = { $agent } 没有暂停。
cli-run-agents-paused = 已暂停：{ $agents }。
cli-run-agents-resumed = 已恢复：{ $agents }。

## What the run needs from the person

cli-run-call-wanted = { $agent } 请求调用 { $tool } { $arguments }
cli-run-call-approved-by-flag = 已批准（--yes）
cli-run-call-needs-approval = 需要审批：/approve 批准，/deny 理由 拒绝
cli-run-leave-hint = 也可以输入 /quit 离开，之后可以恢复本次运行。
cli-run-exiting = 正在退出：等待写入完成。再按一次 Ctrl-C 立即退出。
cli-run-needs-resume = 运行已暂停，恢复：/resume
cli-run-needs-approvals = { $count } 个调用待审批（{ $agents }）：/approve 批准，/deny 拒绝
cli-run-needs-agent-resumed = { $agent } { $status }，恢复：/resume { $agent }
cli-run-needs-agent-resumed-with-reason = { $agent } { $status }（{ $reason }），恢复：/resume { $agent }
cli-run-needs-answer = { $agent } 提问：{ $question }
cli-run-answer-prompt = 请输入给 { $agent } 的回答。

## Summary

cli-run-outcome-done = 已完成
cli-run-outcome-needs-person = 等待您处理
cli-run-outcome-stopped = 运行已停止
cli-run-outcome-interrupted = 已中断
cli-run-summary = { $outcome }，用时 { $elapsed }：{ $turns }，{ $tokens }
cli-run-summary-with-cost = { $summary }，{ $cost }
cli-run-summary-sentence = { $summary }。
cli-run-agent-said = { $agent } 说：{ $text }
cli-run-agent-asked = { $agent } 问：{ $text }
cli-run-answer-command = 回答命令：`polis society send { $agent } 文字 --run { $run }`
cli-run-files = 文件：{ $directory }
cli-run-next-after-done = 查看各成员的工作：`polis society tree { $run } --all`、`polis society log 智能体`。继续提出要求：先 `polis society send { $agent } 文字 --run { $run }`，再 `polis run --resume { $run }`
cli-run-next-after-stop = 查看各成员的工作：`polis society tree { $run } --all`
cli-run-agent-placeholder = 智能体
cli-run-next-approvals = 请处理待审批的调用：`polis society approvals { $run }`
cli-run-next-model = 请更正模型端点的设置。
cli-run-next-paused = 恢复 { $agent }：`polis society resume { $run } --agent { $agent }`
cli-run-next-limit = 如果 { $agent } 的预算已用完，请提高预算：`polis society budget { $run }`。恢复 { $agent }：`polis society resume { $run } --agent { $agent }`
cli-run-next-continue = 然后恢复运行：`polis run --resume { $run }`
cli-run-next-after-interruption = 没有丢失任何内容。恢复：`polis run --resume { $run }`

## Status block

cli-run-turn-count = { $count } 个回合
cli-run-token-count = { $tokens } token
cli-run-cost = 费用 { $amount }
cli-run-more-members = ……另有 { $count } 个
cli-run-idle = 空闲
cli-run-ready = 就绪
cli-run-thinking = 思考中 { $elapsed }
cli-run-waiting-for-model = 等待模型 { $elapsed }：{ $reason }
cli-run-member-needs-approval = 需要审批
cli-run-member-paused = 已暂停
cli-run-member-parked = 已搁置
cli-run-member-idle = 空闲
cli-run-member-continues = 继续工作
cli-run-member-dismissed = 已解聘
cli-run-status-with-reason = { $status }：{ $reason }
cli-run-seconds = { $seconds } 秒

## Lines of progress

cli-run-call-failed = ：被拒绝或失败
cli-run-call-interrupted = ：已中断
cli-run-call-was-denied = ：审批未通过
cli-run-call-duration = （{ $elapsed }）
cli-run-model-awaited = 等待模型：{ $reason }
cli-run-warning = 警告：{ $text }
cli-run-message-to-person = 发给您（消息 { $message }）：{ $text }
