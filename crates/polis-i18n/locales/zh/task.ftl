### Tasks: fields, statuses, types, history, pages.

task-new-title = 新建任务
task-comment-field = 评论
task-comments-title = 评论
task-stale-note = （已过期：租约到期）
task-stale-mark = 已过期
task-approve = 批准
task-release = 释放
task-no-assignee = 还没有智能体可以接手该任务。
task-assign-to = 指派给
task-assign-other-roles = 其他角色
task-assign = 指派
task-priority = 优先级
task-create = 创建
task-delete-explanation = 任务将从所有列表中永久移除，其编号不会再使用；被它阻塞的任务不再受其阻塞。
task-delete-confirm = 确认删除
task-delete-question = 删除该任务？
task-no-matches = 没有符合条件的任务。
task-more = 更多
task-list-incomplete = 其余任务请用搜索或筛选查看。
task-blocked-by-prefix = 被阻塞：
task-example-subject-design = 设计 API
task-example-subject-implement = 实现后端
task-add-comment = 发表评论
task-comment-placeholder = @名称 可提及智能体
task-no-comments = 还没有评论。
task-reply-to-comment = 回复
task-edit-title = 编辑 #{ $id }
task-assign-despite-role = 即使角色不符也指派给该负责人
task-numbers-placeholder = 任务编号，如 3, 7
task-stale-explanation = 已过期：负责人的租约已到期
task-no-description = 没有描述。
task-claim = 认领
task-start = 开始
task-complete = 完成
task-delete = 删除
task-unassigned = 无
task-approved-mark = 已批准
task-approval-required = 完成前需要审批
task-note-field = 备注
task-time-active = 处理
task-time-waiting = 等待
task-none-title = 还没有任务
task-none-explanation = 智能体认领、执行并完成任务。可在此新建第一个任务，也可在终端中操作：

## Statuses

task-status-pending = 待处理
task-status-in-progress = 进行中
task-status-completed = 已完成
task-status-deleted = 已删除

## Types

task-type-requirement-analysis = 需求分析
task-type-tech-research = 技术调研
task-type-architecture-design = 架构设计
task-type-api-design = API 设计
task-type-ui-design = UI/UX 设计
task-type-backend-implementation = 后端实现
task-type-frontend-implementation = 前端实现
task-type-client-implementation = 客户端实现
task-type-testing = 测试
task-type-deployment = 部署
task-type-documentation = 文档编写
task-type-code-review = 代码审查
task-type-bug-fix = Bug 修复
task-type-optimization = 性能优化
task-type-other = 其他

## Fields

task-field-subject = 标题
task-field-description = 描述
task-field-id = 编号
task-field-active-form = 进行中显示的文字
task-field-owner = 负责人
task-field-metadata = 元数据
task-field-blocks = 后续任务
task-field-blocked-by = 前置任务
task-field-created-at = 创建时间
task-field-updated-at = 更新时间
task-field-required-role = 所需角色
task-field-claimed-at = 认领时间
task-field-started-at = 开始时间
task-field-completed-at = 完成时间
task-field-lease-duration = 租约时长
task-field-lease-expires-at = 租约到期
task-field-approval = 审批

## Priorities

task-priority-critical = 紧急
task-priority-high = 高
task-priority-normal = 普通
task-priority-low = 低

## What an entry of the history did; the actor precedes it

task-history-created = 创建了任务
task-history-imported = 导入了任务
task-history-updated = 修改了任务
task-history-linked = 修改了依赖关系
task-history-owner-changed = 指定了负责人
task-history-started = 开始了任务
task-history-released = 释放了任务
task-history-completed = 完成了任务
task-history-deleted = 删除了任务
task-history-approved = 批准了任务
task-history-commented = 发表了评论
task-history-lease-renewed = 续期了租约
task-history-claimed = 认领了任务
task-history-given-to = 将任务交给 { $owner }
task-history-operation-refused = 操作被拒绝：{ $op }（{ $code }）
task-operation-approve = 批准
task-operation-claim = 认领
task-operation-comment = 评论
task-operation-heartbeat = 续期租约
task-operation-release = 释放
task-operation-update = 修改
task-history-refused = 被拒绝
task-history-earlier-on-events-page = 更早的记录见“事件”页面。

## Concurrent edits

task-conflict-title = 在您编辑期间，其他人修改了该任务。
task-conflict-explanation = 尚未保存任何内容，您的文本保留在下方表单中。
task-conflict-both-changed-prefix = 双方都修改了：
task-conflict-merged = 双方的修改不重叠，表单中已包含两者。
task-conflict-taken-prefix = 您未改动，已采用对方的版本：

## Filter of the task board

task-filter-any = 不限
task-filter-placeholder = 关键词或 #12
task-filter-ready = 可认领

## Dependencies

task-dependencies-title = 依赖关系
task-no-dependencies = 没有依赖关系。
task-graph-incomplete = 仅显示最近的任务，还有更多相连的任务。
task-graph-description = 依赖关系图，下方列表内容相同
