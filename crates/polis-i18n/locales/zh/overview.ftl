### Overview: current work, items that need attention, team health.

overview-running-commands = 正在运行的命令
overview-latest-events = 最近事件
overview-needs-attention = 需要您处理
overview-nothing-needs-attention = 没有需要您处理的事项。
overview-items-hidden = 还有 { $more } 项，处理完上面的项目后显示。
overview-wants-to-complete = 希望完成该任务，需先审批。
overview-lease-expired-of = 的租约已过期
overview-decision-card-title = 决策
overview-proposed-by = 提议者
overview-review = 查看
overview-tasks-in-progress = 进行中的任务
overview-no-task-in-progress = 没有进行中的任务。
overview-create-task = 创建任务
overview-lease-expired = 租约已过期
overview-unassigned = 未指派
overview-view-all = 查看全部
overview-registered-and-roots = 已注册 { $registered } 个，根智能体 { $roots } 个
overview-no-agents = 还没有智能体。请注册一个，或启动一次运行：
overview-agents-working = 工作中
overview-agents-idle = 空闲：
overview-calling-prefix = 正在调用{" "}
overview-task-label = 任务
overview-commands-hidden = 另有 { $hidden } 个正在运行，见各工作空间的命令日志。
overview-workspace-label = 工作空间
overview-output-beginning-omitted = 开头部分已省略。

## Counts; the number precedes them

overview-count-in-progress = 进行中
overview-count-pending = 待处理
overview-count-completed = 已完成

overview-count-registered-agents =
    { $count ->
       *[other] 已注册智能体
    }

overview-count-events =
    { $count ->
       *[other] 事件
    }

## Team health

overview-team-health = 团队健康度
overview-health-period = 时间段
overview-health-hours = 按小时
overview-health-days = 按天
overview-health-role-match = 角色匹配率
overview-health-role-match-explanation = 指派给所需角色的任务
overview-health-conflicts = 冲突率
overview-health-conflicts-explanation = 因版本冲突被拒绝的更新
overview-health-cross-role = 跨角色认领率
overview-health-cross-role-explanation = 指派给其他角色的任务
overview-health-invalid-transitions = 无效状态转换
overview-health-invalid-transitions-explanation = 被规则拒绝的状态转换
overview-health-completed-explanation = 已完成的任务
overview-health-created = 已创建
overview-health-created-explanation = 新建的任务
