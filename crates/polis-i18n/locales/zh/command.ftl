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

## polis 在命令输出中的说明

command-bytes-omitted = { $count ->
   *[other] … 省略 { $bytes } 字节 …
}
command-bytes-omitted-spooled = { $count ->
   *[other] … 省略 { $bytes } 字节；完整输出在 $POLIS_OUTPUT/{ $file }，供后续命令读取 …
}
command-bytes-omitted-spool-limited = { $count ->
   *[other] … 省略 { $bytes } 字节；输出的前 { $limit } 字节在 $POLIS_OUTPUT/{ $file }，供后续命令读取 …
}
command-reserved-name-renamed = polis：名称 { $name } 是保留名，已改名为 { $renamed }
