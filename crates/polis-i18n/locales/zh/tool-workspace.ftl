### 面向模型的文件和命令工具结果。

## 文件

tool-workspace-file-truncated = 已截断，文件共 { $size } 字节；{ $advice }
tool-workspace-read-with-command = 用 run_command 读取其余部分
tool-workspace-line-too-long = 有一行超出结果长度上限：请用 run_command 读取
tool-workspace-next-line = 读取其余部分请传 startLine={ $line }
tool-workspace-written = { $path } 已写入，{ $size } 字节。
tool-workspace-edited = { $path } 已修改 { $count } 处，{ $size } 字节。
tool-workspace-deleted = { $path } 已删除。
tool-workspace-moved = { $old } 现为 { $new }。
tool-workspace-dir-created = { $path } 已创建。
tool-workspace-link = { $name }（链接）
tool-workspace-not-a-file = { $name }（非普通文件）
tool-workspace-empty-dir = 目录为空。
tool-workspace-no-match = 没有匹配。
tool-workspace-more-matches = 已显示 { $count } 项；请用 path、globs 或 pattern 缩小范围，或传 limit
tool-workspace-info = { $workspace } 的工作空间：{ $files } 个文件，{ $directories } 个目录，{ $size } 字节。

## 命令

tool-workspace-timeout-limits = { $text }；默认 { $default }，最多 { $maximum }
tool-workspace-exit-code = 退出码 { $code }
tool-workspace-signal = （{ $signal }）
tool-workspace-out-of-memory = ，超出内存上限，已终止
tool-workspace-output-truncated = 已截断；需要全部输出时，请重定向到文件再读取
tool-workspace-no-commands = 没有命令。
tool-workspace-output-omitted = 省略了 { $count } 字节
tool-workspace-command-line = { $id } { $agent }：{ $command }（{ $state }）
tool-workspace-command-running = 运行中
tool-workspace-command-interrupted = 已中断
tool-workspace-command-timed-out = 已超时
tool-workspace-command-cancelled = 已取消
