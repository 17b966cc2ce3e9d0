### Output of `polis ws` and `polis exec`.

## Lists

cli-workspace-started-column = 开始时间
cli-workspace-output-column = 输出
cli-workspace-command-column = 命令
cli-workspace-size-column = 大小
cli-workspace-name-column = 名称
cli-workspace-binding-column = 绑定
cli-workspace-since-column = 分配时间
cli-workspace-directory-column = 目录

## Workspaces

cli-workspace-none = 还没有工作空间。没有上级的智能体都会获得一个：polis agent add lead --role team-lead
cli-workspace-binding-own = 已绑定
cli-workspace-binding-default = 默认
cli-workspace-in-use = 使用中
cli-workspace-not-here = 不在本机
cli-workspace-not-written = 尚未创建
cli-workspace-bound = { $agent } 的工作空间已绑定。
cli-workspace-bound-to = { $agent } 的工作空间已绑定到 { $directory }。
cli-workspace-summary = { $agent } 的工作空间：{ $files }，{ $directories }，{ $size }；{ $change }
cli-workspace-directory-count = { $count } 个目录
cli-workspace-last-changed = 最近修改于 { $time }
cli-workspace-directory = 目录：{ $path }

## Files

cli-workspace-empty = 这里还没有文件。写入一个文件：polis --as 智能体 ws write notes.md --content "..."
cli-workspace-directory-empty = 目录为空。
cli-workspace-type-file = 文件
cli-workspace-type-directory = 目录
cli-workspace-type-symlink = 符号链接
cli-workspace-type-other = 其他
cli-workspace-more-entries = 还有更多条目，请列出子目录。
cli-workspace-file-truncated = -- 已截断：文件共 { $size }
cli-workspace-no-match = { $files }中没有匹配项。
cli-workspace-more-matches = 还有更多匹配项，请增大 --limit。
cli-workspace-file-written = 已将 { $size } 写入 { $path }。
cli-workspace-file-created = 已将 { $size } 写入新文件 { $path }。
cli-workspace-text-replaced = 已在 { $path } 中替换 { $count } 处。
cli-workspace-deleted = 已删除 { $path }。
cli-workspace-moved = 已将 { $from } 移动到 { $to }。
cli-workspace-directory-created = 已创建 { $path }。
cli-workspace-not-logged = 注意：操作已成功，但无法写入事件日志；`polis doctor` 会显示原因。

## Commands

cli-workspace-no-commands = 没有命令。运行一个：polis exec -- ls
cli-workspace-more-commands = 更多命令：--before { $next }
cli-workspace-command-running = 运行中
cli-workspace-command-interrupted = 已中断
cli-workspace-command-timed-out = 超时
cli-workspace-command-out-of-memory = 内存不足
cli-workspace-command-exit = 退出码 { $code }
cli-workspace-command-cancelled = 提前结束
cli-workspace-command-ended = { $ending }，用时 { $milliseconds } 毫秒
cli-workspace-command-title = { $agent }，工作空间 { $workspace }：{ $status }
cli-workspace-output-omitted = （省略 { $size }）
cli-workspace-command-killed = polis：命令被终止：它使用的内存超过了 `sandbox.memory` 的上限。
