### What `polis task` prints.

cli-task-created = 任务 #{ $id } 已创建
cli-task-claimed = 任务 #{ $id } 已由 { $owner } 认领
cli-task-released = 任务 #{ $id } 已释放
cli-task-lease-renewed = 任务 #{ $id } 由您持有，租约至 { $until }
cli-task-approved-when-completed = 任务 #{ $id } 已批准，它先前已完成
cli-task-approved = 任务 #{ $id } 已批准，负责人现在可以完成它
cli-task-updated = 任务 #{ $id } 已更新，版本：{ $from } -> { $to }
cli-task-force-assigned = 任务 #{ $id } 已强制指派给“{ $owner }”（忽略所需角色“{ $role }”）
cli-task-deleted = 任务 #{ $id } 已删除
cli-task-now-ready = 现已就绪：{ $tasks }

## Lists

cli-task-column-blocked-by = 前置任务
cli-task-column-priority = 优先级
cli-task-column-subject = 标题
cli-task-none = 还没有任务。创建任务：polis task create --subject "..."
cli-task-no-match = 没有符合条件的任务。查看全部：polis task list
cli-task-none-ready = 没有就绪的任务。查看依赖关系：polis task graph
cli-task-none-ready-for-you = 没有可供您认领的就绪任务。查看依赖关系：polis task graph
cli-task-more = 更多任务：--cursor { $cursor }
cli-task-shown-above = #{ $id }（见上文）
cli-task-no-dependencies = 还没有依赖关系。添加依赖：polis task update 2 --add-blocked-by 1

## Reasons of a recommendation

cli-task-reason-assigned = 已指派给您
cli-task-reason-type = { $type-name } 与角色 { $role } 匹配
cli-task-reason-completed = 您完成过 { $count } 个此类任务
cli-task-reason-role = 需要角色 { $role }
cli-task-ranking-order = 排序依据依次为：已指派给您、优先级、等待它的任务数、类型与角色是否相符、创建先后。
cli-task-reason-priority = 优先级 { $priority }
cli-task-reason-waiting = { $count } 个任务在等待它

## Comments

cli-task-comment-added = 已为任务 #{ $task } 添加评论 { $comment }
cli-task-no-comments = 还没有评论。发表评论：polis task comment 任务 --body "..."
cli-task-earlier-comments = 更早的评论：--before { $comment }

## Import and export

cli-task-importing = 正在导入
cli-task-exporting = 正在导出
cli-task-import-counts = 已导入 { $imported }，未变化 { $unchanged }，已修复 { $repaired }，已跳过 { $skipped }
cli-task-file-repaired = 已修复 { $file }：{ $repair }
cli-task-file-skipped = 已跳过 { $file }：{ $reason }
cli-task-exported = 已导出 { $count } 个任务。

## Statistics

cli-task-stats-version-conflicts = 版本冲突率
cli-task-stats-target = （目标 { $target }）
cli-task-stats-of-assigned = { $assigned } 个已指派任务中的 { $count } 个
cli-task-stats-of-updates = { $updates } 次更新中的 { $count } 次
cli-task-stats-counts = 已创建 { $created }，已完成 { $completed }，已删除 { $deleted }
cli-task-stats-average-time = 平均完成用时：{ $seconds } 秒
cli-task-stats-average-time-of-type = { $name }：{ $seconds } 秒
cli-task-stats-column-from = 起始时间
cli-task-stats-column-created = 已创建
cli-task-stats-column-completed = 已完成
cli-task-stats-column-match = 角色匹配
cli-task-stats-column-cross = 跨角色
cli-task-stats-column-conflict = 冲突
cli-task-stats-column-invalid = 无效转换
