### Runs: statuses, pages.

run-reason-field = 原因
run-duration = 用时 { $span }
run-none-active = 当前没有运行。可在终端中启动：
run-example-requirement = 构建一个小型网店
run-prefix = 运行{" "}
run-all-agents = 全部智能体
run-requested-by-prefix = 发起者：
run-team-template-prefix = 团队模板{" "}
run-title = 运行 { $id }
run-hired-in-total = 次招募
run-entire = 整个运行
run-members = 成员
run-turns-column = 回合数
run-tokens-column = token 数
run-cost-column = 费用
run-agent-count = { $count } 个智能体
run-status-done = 已完成
run-status-stopped = 已停止

## Stop

run-stop-explanation = 本次运行的全部 { $agents } 个智能体将被解聘，其任务将被释放，文件保留。
run-stop-question = 停止运行 { $id }？
run-stop-confirm = 确认停止
run-stop = 停止运行
