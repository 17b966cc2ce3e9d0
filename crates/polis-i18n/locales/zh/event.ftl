### Events: verbs, subjects, details, pages.

event-none = 还没有事件。
event-actor = 操作者
event-subject = 对象
event-time = 时间
event-details = 详情
event-position = 第 { $position } 个事件，共 { $total } 个
event-area-field = 类别
event-all-areas = 全部
event-text-field = 文字
event-show = 显示
event-clear = 清除
event-go-back-in-time = 回溯
event-no-matches = 没有符合条件的事件。
event-show-all = 显示全部事件
event-log-pages = 日志分页
event-older = 更早
event-newer = 更晚
event-newest = 最新
event-live = 实时
event-unit = 个事件

## Areas of the log

event-area-society = 智能体社会
event-area-artifact = 产物
event-area-token = 令牌
event-area-webhook = Webhook

## Subjects

event-subject-task = 任务 #{ $id }
event-subject-board = 白板 { $name }
event-subject-run = 运行 { $id }
event-subject-workspace = { $id } 的工作空间
event-subject-artifact = 产物 { $id }
event-subject-webhook = webhook { $id }

## What an event did; the actor precedes it

event-own-status-changed = 更新了状态
event-signed-in = 用浏览器登录了
event-browser-session-ended = 结束了浏览器会话
event-task-created = 创建了{ $object }
event-task-imported = 导入了{ $object }
event-changed = 修改了{ $object }
event-task-linked = 调整了{ $object }的依赖
event-task-claimed = 认领了{ $object }
event-task-started = 开始了{ $object }
event-task-released = 释放了{ $object }
event-task-completed = 完成了{ $object }
event-task-deleted = 删除了{ $object }
event-task-approved = 批准了{ $object }
event-task-commented = 评论了{ $object }
event-task-heartbeat = 续期了{ $object }的租约
event-task-refused = 对{ $object }的操作被拒绝
event-board-written = 写入了{ $object }
event-board-appended = 向{ $object }追加了内容
event-board-edited = 编辑了{ $object }
event-board-restored = 将{ $object }恢复为旧版本
event-board-edited-externally = 导入了{ $object }的外部修改
event-board-file-restored = 恢复了{ $object }丢失的文件
event-board-locked = 锁定了{ $object }
event-board-renewed = 续期了{ $object }的锁定
event-board-unlocked = 解锁了{ $object }
event-decision-proposed = 在{ $object }提出了决策
event-decision-signed = 在{ $object }签署了决策
event-decision-vetoed = 在{ $object }否决了决策
event-decision-appealed = 在{ $object }申诉了决策
event-milestone-added = 在{ $object }新增了里程碑
event-milestone-done = 在{ $object }将里程碑标记为已达成
event-agent-added = 注册了{ $object }
event-agent-retired = 停用了{ $object }
event-token-issued = 为{ $object }签发了令牌
event-token-revoked = 吊销了{ $object }的令牌
event-message-sent = 给{ $object }发送了消息
event-message-read = 阅读了消息
event-artifact-put = 保存了{ $object }
event-webhook-added = 添加了{ $object }
event-webhook-removed = 移除了{ $object }
event-workspace-assigned = 设立了{ $object }
event-workspace-bound = 为{ $object }绑定了目录
event-file-written = 在{ $object }写入了文件
event-file-edited = 在{ $object }编辑了文件
event-file-deleted = 在{ $object }删除了文件
event-file-moved = 在{ $object }移动了文件
event-file-directory-made = 在{ $object }创建了目录
event-file-refused = 在{ $object }访问文件被拒绝
event-society-started = 启动了{ $object }
event-society-paused = 暂停了{ $object }
event-society-resumed = 恢复了{ $object }
event-society-finished = 完成了{ $object }
event-society-stopped = 停止了{ $object }
event-society-hired = 招募了{ $object }
event-society-dismissed = 解聘了{ $object }
event-society-status-changed = 更新了{ $object }的状态
event-society-approval-requested = 请求审批{ $object }
event-society-approval-decided = 审批了{ $object }的调用
event-society-budget-changed = 调整了{ $object }的预算
event-command-started = 在{ $object }开始运行命令
event-command-run = 在{ $object }运行了命令
event-command-refused = 在{ $object }运行命令被拒绝
event-unknown = 触发了{ $object }的事件

## Details of an event

event-claimed-for = （负责人：{ $owner }）
event-after-duration = ，用时 { $duration }
event-message-count = （{ $count } 条）
event-as-role = ，角色为
event-requested-tool = ：{ $tool }
event-call-approved = 已批准
event-call-denied = 已拒绝
event-joined-details = { $first }，{ $second }
event-details-after-colon = ：{ $details }
event-details-in-parentheses = （{ $details }）
event-refused-attempt = { $attempt }（{ $code }）
event-command-timed-out = 超时
event-command-cancelled = 已取消
event-command-succeeded = 成功
event-command-exit-code = 退出码 { $code }
event-status-with-reason = { $status }（{ $reason }）
