task-invalid-id = 任务编号无效：{ $text }。任务编号是十进制数，如 5。
    .cli = 用 `polis task list` 列出任务
    .tool = 用 `TaskList` 列出任务
    .http = 用 `GET /v1/tasks` 列出任务
    .screen = 请更正输入的内容

task-no-lease = 任务 #{ $task } 没有可续期的租约。
    .cli = 请设置租约：`polis task heartbeat { $task } --lease 30m`
    .tool = 请设置租约：调用 `TaskClaim`，给出其 taskId 和 leaseMs=1800000
    .http = 请设置租约：调用 `POST /v1/tasks/claim`，给出其 taskId 和 leaseMs=1800000
    .screen = 请更正输入的内容

task-lease-out-of-range = 租约 { $lease } 毫秒超出范围；接受 1 毫秒到 366 天。
    .hint = 请使用较短的租约，并用心跳续期

task-empty-comment = 评论无效：内容为空。
    .hint = 请写出评论内容

task-comment-not-found = 任务 #{ $task } 没有评论 { $number }。
    .cli = 用 `polis task comments { $task }` 查看其评论
    .tool = 用 `TaskComments` 查看其评论
    .http = 用 `GET /v1/tasks/{"{"}taskId{"}"}/comments` 查看其评论
    .screen = 请刷新页面：它可能已不存在

task-dependency-cycle = 循环依赖：{ $path }。
    .cli = 请去掉其中一条依赖，或用 --remove-blocks / --remove-blocked-by 删除一条
    .tool = 请去掉其中一条依赖，或用 `TaskUpdate` 和 removeBlocks 或 removeBlockedBy 删除一条
    .http = 请去掉其中一条依赖，或用 `PATCH /v1/tasks/{"{"}taskId{"}"}` 和 removeBlocks 或 removeBlockedBy 删除一条
    .screen = 请去掉循环中的一条依赖

task-not-found = 没有任务 #{ $id }。
    .cli = 用 `polis task list` 列出任务
    .tool = 用 `TaskList` 列出任务
    .http = 用 `GET /v1/tasks` 列出任务
    .screen = 请刷新页面：它可能已不存在

task-force-assign-forbidden = 只有团队负责人可以强制指派（forceAssign）。
    .cli = 请去掉 --force-assign，或请团队负责人指派任务
    .tool = 请去掉 forceAssign，或请团队负责人指派任务
    .screen = 请找有权限的人处理

task-held-by = 任务 #{ $task } { $status ->
        [in_progress] 进行中
        [pending] 待处理
        [completed] 已完成
       *[other] 已删除
    }，由“{ $owner }”持有，而不是“{ $agent }”。
    .cli = { $status ->
        [completed] 后续工作请新建任务
       *[other] 请先认领（`polis task claim { $task }`），或找团队负责人
    }
    .tool = { $status ->
        [completed] 后续工作请新建任务
       *[other] 请先用 `TaskClaim` 认领，或找团队负责人
    }
    .http = { $status ->
        [completed] 后续工作请新建任务
       *[other] 请先用 `POST /v1/tasks/claim` 认领，或找团队负责人
    }
    .screen = { $status ->
        [completed] 后续工作请新建任务
       *[other] 请先认领，或请团队负责人处理
    }

task-held-by-none = 任务 #{ $task } { $status ->
        [in_progress] 进行中
        [pending] 待处理
        [completed] 已完成
       *[other] 已删除
    }，没有负责人，不由“{ $agent }”持有。
    .cli = { $status ->
        [completed] 后续工作请新建任务
       *[other] 请先认领（`polis task claim { $task }`），或找团队负责人
    }
    .tool = { $status ->
        [completed] 后续工作请新建任务
       *[other] 请先用 `TaskClaim` 认领，或找团队负责人
    }
    .http = { $status ->
        [completed] 后续工作请新建任务
       *[other] 请先用 `POST /v1/tasks/claim` 认领，或找团队负责人
    }
    .screen = { $status ->
        [completed] 后续工作请新建任务
       *[other] 请先认领，或请团队负责人处理
    }

task-completed-keeps-owner = 任务 #{ $task } 已完成，其负责人保留在记录中。
    .hint = 后续工作请新建任务，或请团队负责人强制指派

task-owner-retired = 智能体“{ $owner }”已停用，不能持有任务。
    .cli = 请指定在用的智能体；`polis agent list` 会列出它们
    .tool = 请指定在用的智能体；`list_agents` 会列出它们
    .http = 请指定在用的智能体；`GET /v1/agents` 会列出它们
    .screen = 请从智能体列表中选择

task-role-mismatch =
    角色不符。任务要求“{ $required }”，而你是“{ $role }”。用 TaskList({"{"} roleFilter: "{ $role }" {"}"}) 查找适合你角色的任务。
    .text-cli = 角色不符。任务要求“{ $required }”，而你是“{ $role }”。
    .text-screen = 角色不符。任务要求“{ $required }”，而你是“{ $role }”。
    .cli = 运行 `polis task list --role-filter { $role }`；团队负责人和用户可以加上 --force-assign
    .tool = 用 `TaskList` 和 roleFilter={ $role } 查看适合你角色的任务；团队负责人可以传入 forceAssign=true
    .http = 用 `GET /v1/tasks` 和 roleFilter={ $role } 查看适合你角色的任务；团队负责人可以传入 forceAssign=true
    .screen = 请指派给具有该角色的智能体

task-owner-role-mismatch = 角色不符。任务要求“{ $required }”，而“{ $owner }”是“{ $role }”。
    .cli = 请指定具有该角色的智能体（`polis agent list` 会列出）；团队负责人和用户可以加上 --force-assign
    .tool = 请指定具有该角色的智能体（`list_agents` 会列出）；团队负责人可以传入 forceAssign=true
    .http = 请指定具有该角色的智能体（`GET /v1/agents` 会列出）；团队负责人可以传入 forceAssign=true
    .screen = 请指派给具有该角色的智能体

task-owner-not-registered = 角色不符。任务要求“{ $required }”，而“{ $owner }”不是已注册的智能体。
    .cli = 请指定具有该角色的已注册智能体（`polis agent list` 会列出），或用 `polis agent add` 注册它
    .tool = 请指定具有该角色的已注册智能体（`list_agents` 会列出），或让人注册它
    .http = 请指定具有该角色的已注册智能体（`GET /v1/agents` 会列出），或让人注册它
    .screen = 请从智能体列表中选择

task-already-claimed = 任务 #{ $task } 已被“{ $owner }”认领。
    .cli = 请认领其他任务（`polis task claim` 会选取最合适的就绪任务），或请负责人释放它
    .tool = 请认领其他任务（`TaskClaim` 不带 taskId 会选取最合适的就绪任务），或请负责人释放它
    .http = 请认领其他任务（`POST /v1/tasks/claim` 不带 taskId 会选取最合适的就绪任务），或请负责人释放它
    .screen = 请选择其他任务，或请负责人释放它

task-invalid-status = 状态无效：{ $name }。有效的状态：pending、in_progress、completed、deleted。
    .hint = 请使用有效的状态

task-transition-start-first = 状态转换无效：“{ $from }”->“{ $to }”。从“{ $from }”允许转换到：[{ $allowed }]{ $lead_only ->
        [true] （仅限 team-lead）
       *[other] {""}
    }。
    .hint = 请先开始：认领它，或将其状态设为 in_progress

task-transition-release-instead = 状态转换无效：“{ $from }”->“{ $to }”。从“{ $from }”允许转换到：[{ $allowed }]{ $lead_only ->
        [true] （仅限 team-lead）
       *[other] {""}
    }。
    .cli = 请改为释放：`polis task release ID`
    .tool = 请改为释放：调用 `TaskUpdate`，给出 owner=""
    .http = 请改为释放：调用 `PATCH /v1/tasks/{"{"}taskId{"}"}`，给出 owner=""
    .screen = 请选择允许的状态，或释放任务

task-transition-ask-lead-to-delete = 状态转换无效：“{ $from }”->“{ $to }”。从“{ $from }”允许转换到：[{ $allowed }]{ $lead_only ->
        [true] （仅限 team-lead）
       *[other] {""}
    }。
    .text-cli = 只有团队负责人可以删除已完成的任务。
    .text-screen = 只有团队负责人可以删除已完成的任务。
    .hint = 请让团队负责人删除它

task-transition-create-new = 状态转换无效：“{ $from }”->“{ $to }”。从“{ $from }”允许转换到：[{ $allowed }]{ $lead_only ->
        [true] （仅限 team-lead）
       *[other] {""}
    }。
    .hint = 后续工作请新建任务

task-not-begun = 任务 #{ $task } 尚待处理；只有已开始的工作才能审批。
    .hint = 请在负责人报告完成后审批

task-version-mismatch =
    任务版本不匹配。预期：{ $expected }，当前：{ $current }。另一个智能体已修改此任务。请刷新后重试。
    .cli = 用 `polis task get { $task }` 重新读取，并以其版本重试
    .tool = 用 `TaskGet` 重新读取，并以其版本作为 expectedVersion 重试
    .http = 用 `GET /v1/tasks/{"{"}taskId{"}"}` 重新读取，并以其版本作为 expectedVersion 重试
    .screen = 请重新加载，再次修改并保存

task-search-too-long = 搜索文本最多 { $max_search_bytes } 字节，且不含 NUL。
    .hint = 请搜索较少的词

task-invalid-type = taskType 无效：{ $name }。有效的类型：{ $types }。
    .text-cli = 任务类型无效：{ $name }。有效的类型：{ $types }。
    .text-screen = 任务类型无效：{ $name }。有效的类型：{ $types }。
    .hint = 请使用有效的类型，或省略类型

task-empty-line = { $field }无效：内容为空。
    .hint = 请给出一行简短的文字；细节请写入描述

task-line-too-long = { $field }无效：{ $chars } 个字符，最多接受 { $max_subject_chars } 个。
    .hint = 请给出一行简短的文字；细节请写入描述

task-line-control = { $field }无效：含有控制字符 U+{ $character }。
    .hint = 请给出一行简短的文字；细节请写入描述

task-text-too-long = { $field }无效：{ $bytes } 字节，最多接受 { $max_text_bytes } 字节。
    .hint = 请把较长的文本放入文件或白板，并在此引用

task-text-control = { $field }无效：含有控制字符 U+{ $character }。
    .hint = 请去掉控制字符；换行和制表符可以保留

task-metadata-too-large = 元数据无效：{ $size } 字节，最多接受 { $max_metadata_bytes } 字节。
    .hint = 请把大量数据放入文件，并在此引用

task-metadata-surrogate = 元数据无效：字符串含有不成对的代理项。
    .hint = 请使用有效的 Unicode 转义

task-metadata-too-deep = 元数据无效：嵌套 { $depth } 层，最多接受 { $max_json_depth } 层。
    .hint = 请减少嵌套，或编码为字符串

task-blocked = 任务 #{ $task } 被阻塞：它等待的任务中有 { $open } 个（{ $blockers }）未完成。
    .cli = 请先完成它们；`polis task ready` 列出可以开始的任务
    .tool = 请先完成它们；`TaskList` 加 ready=true 列出可以开始的任务
    .http = 请先完成它们；`GET /v1/tasks` 加 ready=true 列出可以开始的任务
    .screen = 请先完成它依赖的任务

task-approval-required = 任务 #{ $task } 的类型是“{ $task_type }”，须先通过审批才能完成。
    .cli = 请让团队负责人运行 `polis task approve { $task }`，然后再完成
    .tool = 请让团队负责人用 `TaskApprove` 审批，然后再完成
    .http = 请让团队负责人用 `POST /v1/tasks/{"{"}taskId{"}"}/approve` 审批，然后再完成
    .screen = 请先通过审批，再完成

task-nothing-to-update = 没有要更新的内容：请求没有给出任务 #{ $task } 的任何字段。
    .hint = 请至少给出一个字段，例如状态或负责人

task-unknown-priority = 未知的优先级：{ $name }。有效的优先级：{ $priorities }。
    .hint = 请使用有效的优先级，或省略优先级

task-priorities-disagree = 优先级 { $priority } 与 metadata.priority { $value } 不一致。
    .hint = 请只给出其中一个，另一个会随之更新

task-unknown-sort = 未知的排序方式：{ $name }。有效的排序方式：{ $orders }。
    .hint = 请使用有效的排序方式，或省略

task-cursor-of-other-sort = 游标 { $cursor } 不属于按 { $sort } 排序的列表。
    .hint = 请保持第一页的排序方式，或不带游标重新开始

cycle-step-new-task = 新任务

text-field-subject = 标题
text-field-description = 描述
text-field-active-form = activeForm
text-field-comment = 评论
text-field-note = 备注
text-field-reason = 理由
text-field-decision = 决策
text-field-milestone = 里程碑
text-field-milestone-title = 里程碑标题
text-field-milestone-description = 里程碑说明
