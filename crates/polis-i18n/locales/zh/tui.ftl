### Terminal UI: keys, dialogs, notices, texts that name keys.

tui-restore-version-question = 将 { $board } 恢复到版本 { $version }？
tui-allow-call-title = 批准调用
tui-deny-call-title = 拒绝调用
tui-comment-on-task = 评论 #{ $task }
tui-approve-task = 批准 #{ $task }
tui-note-field = 备注（可选）
tui-delete-task-question = 删除任务 #{ $task }？
tui-complete-for-owner-question = 任务 #{ $task } 由 { $owner } 持有。替 { $owner } 完成它？
tui-append-to-board = 追加到 { $board }
tui-text-field = 内容
tui-veto-decision = 否决 { $id }
tui-message-to = 发消息给 { $id }
tui-dismiss-agent-question = 解聘 { $id } 及其所有下级？
tui-text-is-in-file = 您未保存的文本在 { $file }
tui-message-sent = 已发送给 { $to }。
tui-text-not-found = 未找到：{ $search }
tui-refused-title = 被拒绝
tui-terminal-too-small = 窗口太小：至少 { $columns }x{ $rows }。q 退出。
tui-store-unreachable = 存储不可用
tui-following = {"["}跟随]{" "}
tui-loading = 加载中…{" "}
tui-no-match = 没有匹配“{ $search }”的内容。按 Esc 取消筛选。
tui-showing-earlier-data = 显示的是先前的数据。
tui-finishing-actions = 正在完成进行中的操作……
tui-not-suspended = 没有可恢复本进程的 shell，未挂起。
tui-no-agents = 还没有智能体。请注册：polis agent add 名称 --role 角色
tui-no-messages = 还没有消息。按 m 发送。
tui-turns-summary = 此前回合的摘要：
tui-board-locked-by = 锁定者：
tui-board-not-written = 模板：尚无内容。
tui-no-versions = 还没有历史版本。
tui-decisions-heading = 决策（p：提出）
tui-milestones-heading = 里程碑（a：新增）
tui-searched-back-to-event = 已搜索到事件 { $from }，按 gg 继续搜索。
tui-no-matches = 没有匹配项。
tui-tasks-in-progress = 进行中的任务：
tui-no-tasks-in-progress = 没有。按 2 看任务，a 新建，c 认领。
tui-computing-statistics = 正在统计……
tui-no-tasks = 没有任务。按 a 新建，按 Esc 取消筛选。
tui-task-blocked-by = 被阻塞：
tui-earlier-comments-omitted = ……更早的内容已省略
tui-earlier-entries-omitted = ……更早的内容已省略
tui-no-workspaces = 还没有工作空间。没有上级的智能体会获得一个。
tui-workspace-empty = 空
tui-workspace-bound = 绑定目录
tui-workspace-own = 自有目录
tui-directory-empty = 目录为空。
tui-file-beginning-only = ，仅显示开头

tui-field-with-value = { $name }：{ $value }
tui-field-label = { $name }：

## Descriptions of keys

tui-key-claim = 认领任务
tui-key-release = 释放任务
tui-key-complete = 完成任务
tui-key-move-right = 移到下一状态
tui-key-move-left = 移回上一状态
tui-key-comment = 评论任务
tui-key-approve = 批准完成
tui-key-delete = 删除任务
tui-key-edit-task = 用 $EDITOR 编辑标题与描述
tui-key-create = 新建任务
tui-key-edit-board = 用 $EDITOR 编辑白板
tui-key-append = 追加到白板
tui-key-versions = 历史版本
tui-decisions-and-milestones = 决策与里程碑
tui-key-restore = 恢复此版本
tui-key-sign = 签署决策
tui-key-veto = 否决决策
tui-key-propose = 提出决策
tui-key-appeal = 申诉决策
tui-key-add-milestone = 新增里程碑
tui-key-reach-milestone = 将里程碑标记为已达成
tui-key-allow = 批准调用
tui-key-deny = 拒绝调用
tui-key-send-message = 发送消息
tui-key-dismiss-message = 忽略消息
tui-key-pause = 暂停智能体
tui-key-resume = 恢复智能体
tui-key-terminate = 解聘该智能体及下级
tui-key-files = 查看其文件
tui-key-commands = 命令日志
tui-key-down = 向下
tui-key-up = 向上
tui-key-half-down = 向下半页
tui-key-half-up = 向上半页
tui-key-bottom = 到末尾（gg：到开头）
tui-key-open = 打开
tui-key-back = 取消筛选，或返回
tui-key-next-tab = 切换标签页
tui-key-previous-tab = 上一标签页
tui-key-filter = 筛选列表或搜索文本
tui-key-next = 下一处
tui-key-previous = 上一处
tui-key-follow = 跟随最新
tui-key-help = 帮助
tui-key-redraw = 重新加载并绘制
tui-key-suspend = 挂起（fg 恢复）
tui-key-quit = 退出

## Keys of a dialog

tui-hint-scroll-or-close = j k 滚动   其他键关闭
tui-hint-yes-no = y 是   n 否
tui-hint-form = Enter 提交，Tab 下一项，Esc 取消
tui-hint-filter = Enter 应用，Esc 取消
tui-hint-close = 按任意键关闭
tui-hint-conflict = e 合并后编辑   o 覆盖保存   x 放弃我的   Esc 稍后   j k 滚动
tui-hint-failed-draft = e 再编辑   x 放弃   Esc 稍后
tui-hint-conflict-markers = e 再编辑   S 连同标记保存   x 放弃   Esc 稍后
tui-hint-save-anyway = e 再编辑   r 仍然保存   x 放弃   Esc 稍后
tui-hint-retry = e 再编辑   r 重试   x 放弃   Esc 稍后

## Help

tui-help-on-this-page = 本页
tui-help-everywhere = 任何页面
tui-help-mouse-keys = 点击、滚轮
tui-help-mouse = 选择、打开、滚动
tui-help-title = 按键（j k 滚动，其他键关闭）
tui-help-or-quit = ? 帮助  q 退出

## Titles of pages

tui-page-task = 任务
tui-page-versions = 版本
tui-page-version = 版本
tui-page-commands = 命令
tui-page-command = 命令
tui-page-event = 事件

## External editor and drafts

tui-draft-saved = { $target } 已保存为版本 { $new }。
tui-conflict-markers-left = 文本中仍有冲突标记，尚未保存。
tui-conflict-markers-left-hint = 请再次编辑，解决冲突并删除标记行
tui-draft-already-saved = { $target } 已与您的文本一致。
tui-draft-kept-notice = { $target } 的草稿已保留，在 { $target } 上按 e 可继续编辑。
tui-draft-discarded = 已放弃您的草稿，{ $target } 未改动。
tui-overwrite-question = 用您的文本覆盖所示版本的 { $target }？
tui-discard-draft-question = 永久放弃 { $target } 的草稿？
tui-not-saved-title = 未保存
tui-conflict-title = { $target } 已被 { $author } 修改
tui-draft-kept = {"["}草稿已保留：e]{" "}
tui-editor-exit-status = 退出码 { $code }
tui-editor-ended-by-signal = 信号
tui-editor-failed = 编辑器异常退出（{ $status-text }），未保存任何内容。
tui-editor-failed-hint = 请检查 $VISUAL 与 $EDITOR 后再编辑
tui-editor-file-deleted = 编辑器删除了文件，未保存任何内容。
tui-edit-again-hint = 请再次编辑
tui-editor-file-not-utf8 = 文件不是 UTF-8 编码，未保存任何内容；您的文本只在该文件中。
tui-editor-file-not-utf8-hint = 请再次编辑并以 UTF-8 保存（vim：:set fileencoding=utf-8）
tui-edit-failed = 无法编辑文本：{ $error }。
tui-editor-not-started-hint = 请检查 $VISUAL、$EDITOR 与 $TMPDIR 后再编辑

## Items that need attention

tui-needs-attention = 需要您处理：
tui-attention-calls = 批准 (y) 或拒绝 (d) 调用
tui-attention-paused-agents = 已暂停或已搁置的智能体（r：恢复）
tui-attention-questions = 提问（m：回复，x：忽略）
tui-attention-tasks = 待批准的任务（A）
tui-attention-stale-tasks = 已过期的任务
tui-attention-decisions = 待签署的决策

## Team health

tui-health-role-match = 角色匹配率
tui-health-conflicts = 冲突率
tui-health-cross-role = 跨角色率
tui-health-invalid-transitions = 无效转换
tui-health-completed-per-day = 每日完成

## Confirmations

tui-task-claimed = #{ $task } 已认领。
tui-task-released = #{ $task } 已释放。
tui-task-moved = #{ $task } 现为{ $to }。
tui-task-commented = 已评论 #{ $task }。
tui-task-created = 已创建任务 { $new }。
tui-task-approved = 已批准 #{ $task }。
tui-board-appended = 已追加到 { $board }：版本 { $new }。
tui-version-restored = { $board } 已恢复到版本 { $version }：新版本 { $new }。
tui-decision-proposed = 已提出决策 { $new }。
tui-decision-signed = 已签署 { $id }。
tui-decision-vetoed = 已否决 { $id }。
tui-decision-appealed = 已申诉 { $id }，将重新表决。
tui-milestone-updated = 已更新里程碑“{ $title }”。
tui-call-allowed = 已批准，智能体继续。
tui-call-denied = 已拒绝，已通知智能体。
tui-message-dismissed = 已忽略消息 { $id }。
tui-agent-paused = { $agent } 已暂停。
tui-agent-resumed = { $agent } 已恢复。
tui-agent-dismissed = { $agent } 及其下级已解聘。
tui-call-interrupted = 中断：
tui-call-was-denied = 被拒绝：
