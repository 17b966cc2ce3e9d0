### Commands in workspaces: results and logs.

command-none-run = 这里还没有运行过命令。
command-time-taken = 用时
command-run-by = 执行者
command-sandbox = 沙箱
command-output = 输出
command-beginning-omitted = ……前 { $omitted } 已省略
command-timed-out = 超时
command-cancelled = 已取消
command-out-of-memory = 内存不足
command-killed-by = 被 { $signal } 终止
command-done = 完成
command-exit-code = 退出码 { $code }
command-no-exit-code = 无退出码
command-list-title = 命令
command-earlier = 更早的命令……
command-command-column = 命令
command-output-omitted = 前 { $size } 未显示。
command-no-output = 没有输出。
