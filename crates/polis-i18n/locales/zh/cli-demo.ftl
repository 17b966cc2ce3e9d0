### `polis demo` and `polis demo board`.

## The development team

cli-demo-requirement = 创建一个简单的计算器程序：一个 shell 脚本，计算 2 * (3 + 4) 这样的表达式，支持整数、括号和 + - * / %。除 POSIX sh 外不依赖其他程序。

cli-demo-introduction =
    一个智能体团队将完成一个程序：“{ $requirement }”

    模型是一段录制：回答是预先写好的，现在回放，不会调用任何模型。
    其余都是真实的：招募、消息、文件，以及沙箱中的命令。

cli-demo-in-sandbox = （在沙箱 { $tier } 中）
cli-demo-test-failed = 测试未通过。

cli-demo-next-steps =
    打开页面：{ $polis } --dir { $home } open
    试用程序：sh { $directory }/calc.sh '7 * 6'
    查看详情：{ $polis } --dir { $home } society tree --all
    您的团队：先 export OPENAI_API_KEY=...，再 { $polis } run "需求"
    删除演示：rm -r { $home }

## The task board

cli-demo-board-team = 一个团队共 { $processes } 个进程，在同一个任务板上完成 { $tasks } 个任务：
cli-demo-board-explanation = 每个进程认领适合其角色的就绪任务；其中一个会在工作时被终止（kill -9）。
cli-demo-board-kept = 任务板已保留：polis --dir { $directory } task list
cli-demo-worker-killed = { $agent } 在持有 { $task } 时被终止
cli-demo-board-completed = { $total } 个任务中有 { $completed } 个恰好完成一次；进程终止后被接管的任务：{ $tasks }。
cli-demo-board-health = 角色匹配率 { $percent }%，无效状态转换 { $count } 次。
cli-demo-board-entries = 全局白板上应有 { $total } 条记录，实有 { $entries } 条，每条完整且恰好出现一次；已达成 { $milestones } 个里程碑（版本 { $version }）。
cli-demo-sandbox-missing = 这台机器无法隔离命令，因此没有运行命令；原因见 `polis doctor`。
cli-demo-sandbox-result = { $agent } 在团队的工作空间中写入 check.sh，并在沙箱（{ $tier }）中运行：{ $output }。访问沙箱之外：{ $problem }。
cli-demo-own-board = 创建您自己的任务板：先 `polis init`，再 `polis task create --subject "..."` 和 `polis task claim`。

## What the task board and its whiteboard contain

cli-demo-milestone = 上线
cli-demo-milestone-description = 网店已上线
cli-demo-board-entry = 已完成 #{ $task }：{ $subject }
cli-demo-checks-passed = 全部检查通过
cli-demo-task-requirements = 明确网店的需求
cli-demo-task-payment-research = 比较支付服务商
cli-demo-task-architecture = 设计架构
cli-demo-task-api = 设计 API
cli-demo-task-screens = 绘制界面草图
cli-demo-task-catalogue = 实现商品目录
cli-demo-task-basket = 实现购物车
cli-demo-task-payments = 实现支付
cli-demo-task-invoices = 实现发票
cli-demo-task-catalogue-page = 开发商品目录页面
cli-demo-task-checkout-page = 开发结算页面
cli-demo-task-catalogue-test = 测试商品目录
cli-demo-task-checkout-test = 测试结算流程
cli-demo-task-servers = 准备服务器
cli-demo-task-manual = 编写使用手册
cli-demo-task-launch = 正式上线
