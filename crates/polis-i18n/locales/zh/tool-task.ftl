### 面向模型的任务工具结果。

tool-task-created = 任务 { $task } 已创建，版本 { $version }：{ $subject }
tool-task-updated = 任务 { $task } 已更新，版本 { $version }：{ $subject }
tool-task-completed = 任务 { $task } 已完成，版本 { $version }：{ $subject }
tool-task-deleted = 任务 { $task } 已删除，版本 { $version }：{ $subject }
tool-task-released = 任务 { $task } 已释放，版本 { $version }：{ $subject }
tool-task-approved = 任务 { $task } 已审批，版本 { $version }：{ $subject }
tool-task-claimed = 任务 { $task } 已由 { $owner } 认领，版本 { $version }：{ $subject }
tool-task-head = 任务 { $task } { $status }，版本 { $version }：{ $subject }
tool-task-now-ready = 现已就绪：{ $tasks }
tool-task-held = 任务 { $task } 由你持有。
tool-task-held-until = 任务 { $task } 由你持有，至 { $time }。
tool-task-description-truncated = 描述在第 { $next } 字节处截断，共 { $size } 字节；读取其余部分：{ $call }

## 列表

tool-task-none = 没有任务。
tool-task-none-recommended = 没有可供你认领的就绪任务。
tool-task-line = { $head }，{ $fields }：{ $subject }
tool-task-version-field = 版本 { $version }
tool-task-role-field = 角色 { $role }
tool-task-type-field = 类型 { $kind }
tool-task-waits-for = （等待 { $tasks }）
tool-task-stale = （已过期）
tool-task-recommended = { $task }（{ $score }：{ $reasons }）

## 推荐理由

tool-task-reason-assigned = 已指派给你
tool-task-reason-type = { $kind } 与角色 { $role } 匹配
tool-task-reason-completed = 你完成过 { $count } 个此类任务
tool-task-reason-role = 要求角色 { $role }
tool-task-reason-waiting = { $count } 个任务在等待它

## 优先级

tool-task-priority = 优先级 { $priority }

## 评论、历史、统计

tool-task-comment-added = 评论 { $comment } 已添加到任务 { $task }。
tool-task-no-comments = 没有评论。
tool-task-comment-reply = { $comment } 回复 { $other }
tool-task-comment-line = [{ $head }] { $author } { $time }：{ $body }
tool-task-no-history = 没有历史记录。
tool-task-stats = 创建 { $created }，完成 { $completed }，删除 { $deleted }；{ $rates }
tool-task-rates = 角色匹配 { $matches }，版本冲突 { $conflicts }，跨角色 { $crossed }，无效状态转换 { $invalid }
