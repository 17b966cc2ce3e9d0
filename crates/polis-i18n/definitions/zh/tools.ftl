### 模型看到的工具及其参数。每次请求都包含这些文字，因此尽量简短。
### 不提供给智能体的工具没有参数文字：使用其类型的说明。

## 任务

TaskCreate = 在团队任务板上新建任务，返回编号。
    .subject = 一行，最多 1000 字符
    .description = 详情
    .activeForm = 进度文字，如：编写测试
    .metadata = JSON 对象；`priority`：critical、high、normal（默认）或 low
    .requiredRole = 负责人的角色
    .taskType = 工作种类
    .addBlocks = 等待它的任务
    .addBlockedBy = 它等待的任务

TaskList = 按编号列出任务：状态、版本、负责人、角色、类型、优先级。
    .roleFilter = 该角色可认领或负责的任务
    .status = 状态
    .owner = 负责人
    .taskType = 类型
    .ready = 仅可认领的
    .search = 标题或描述中的词
    .newest = 新的在前
    .limit = 默认 50，最多 1000

TaskGet = 读取任务全文。
    .taskId = 任务编号

TaskUpdate = 修改任务，例如标为完成。
    .taskId = 任务编号
    .status = 新状态
    .subject = 新标题
    .description = 新描述
    .activeForm = 新进度文字
    .owner = 新负责人；空则释放
    .metadata = 合并；null 删除键
    .addBlocks = 等待它的任务
    .addBlockedBy = 它等待的任务
    .removeBlocks = 不再等待它的任务
    .removeBlockedBy = 它不再等待的任务
    .requiredRole = 新角色；空则无（团队负责人）
    .taskType = 新类型；空则无（团队负责人）
    .expectedVersion = 所读版本；已变则拒绝

TaskClaim = 工作前认领任务，任务随即开始。
    .taskId = 默认：最合适的任务
    .expectedVersion = 所读版本；已变则拒绝
    .leaseMs = 到期后他人可认领；再认领则续期

TaskRelease = 放弃你负责的任务，他人可认领。
    .taskId = 任务编号
    .expectedVersion = 所读版本；已变则拒绝

TaskHeartbeat = 工作期间续期你对任务的认领。
    .taskId = 任务编号
    .leaseMs = 新时长；默认不变

TaskApprove = 审批任务的完成（团队负责人）。
    .taskId = 任务编号
    .note = 你的备注
    .expectedVersion = 所读版本；已变则拒绝

TaskRecommend = 为你可认领的任务排序，附理由。
    .limit = 默认 5，最多 100

TaskComment = 评论任务。
    .taskId = 任务编号
    .body = 文本；@name 提及智能体
    .replyTo = 所回复的评论

TaskComments = 读取任务评论，旧的在前。
    .taskId = 任务编号
    .before = 后一页的 `earlier`
    .newest = 从末尾开始
    .limit = 默认 50

TaskHistory = 读取任务变更，旧的在前。
    .taskId = 任务编号
    .limit = 默认 50

TaskStats = 获取团队的任务统计。

## 白板

whiteboard_list = 列出你可读的白板及版本。
    .limit = 默认 50

whiteboard_read = 读取共享的 Markdown 白板及其版本。
    .board = global、top、mid/ROLE 或 bottom/AGENT
    .ifNewerThan = 已有版本；未变则不返回文本
    .section = 标题；默认全部

whiteboard_write = 替换白板文本。
    .board = 同 whiteboard_read
    .content = 新文本
    .expectedVersion = 所读版本；非空白板必填

whiteboard_append = 在白板追加带署名和日期的条目。
    .board = 同 whiteboard_read
    .content = 条目

whiteboard_section = 修改白板的一个章节。
    .board = 同 whiteboard_read
    .title = 标题
    .act = 操作
    .content = 要设置或追加的文本
    .expectedVersion = 所读版本；已变则拒绝
    .expectedSection = 所读 `sectionVersion`

whiteboard_lock = 锁定白板，禁止他人写入。
    .board = 同 whiteboard_read
    .ttlMs = 默认 5000
    .token = 续期时：锁的令牌

whiteboard_unlock = 解除你对白板的锁定。
    .board = 同 whiteboard_read
    .token = 锁定的令牌

whiteboard_history = 列出白板版本，新的在前。
    .board = 同 whiteboard_read
    .limit = 默认 50

whiteboard_show = 读取白板的旧版本。
    .board = 同 whiteboard_read
    .version = 版本

whiteboard_diff = 比较白板的两个版本。
    .board = 同 whiteboard_read
    .from = 旧版本
    .to = 默认当前版本

whiteboard_restore = 把旧版本恢复为新版本。
    .board = 同 whiteboard_read
    .version = 版本
    .expectedVersion = 所读版本；已变则拒绝

whiteboard_decisions = 列出白板上的决策。
    .board = 同 whiteboard_read

whiteboard_decide = 提出决策，或签署、否决、申诉。
    .board = 同 whiteboard_read
    .act = 操作
    .id = 决策；propose 不用
    .content = 提案
    .milestone = 宣布达成的里程碑
    .reason = 否决原因

whiteboard_milestones = 列出白板上的里程碑。
    .board = 同 whiteboard_read

whiteboard_milestone = 添加里程碑，或标为完成。
    .board = 同 whiteboard_read
    .title = 标题
    .add = 说明；省略则标为完成

## 黑板

blackboard_read = 读取团队共享的 Markdown 文件。
    .path = 如 tasks/5/status.md

blackboard_write = 写入共享的 Markdown 文件。
    .path = 如 tasks/5/status.md
    .content = 文本
    .mode = 模式

## 文件

read_file = 读取工作空间的文件或其中几行。
    .path = 相对工作空间
    .startLine = 首行，从 1 起
    .endLine = 末行

write_file = 新建或替换文件，含所需目录。
    .path = 相对工作空间
    .content = 完整内容
    .encoding = 默认 utf8
    .expectedHash = 所读 SHA-256；已变则拒绝
    .createOnly = 不覆盖

edit_file = 替换文件中的文本。
    .path = 相对工作空间
    .oldText = 原文本
    .newText = 新文本
    .replaceAll = 全部；默认仅一处
    .expectedHash = 所读 SHA-256；已变则拒绝

delete_file = 删除文件或目录。
    .path = 相对工作空间
    .recursive = 连同其中全部内容

move_file = 移动或重命名文件或目录。
    .from = 相对工作空间
    .to = 相对工作空间
    .overwrite = 替换已有文件

make_dir = 新建目录，含上级目录。
    .path = 相对工作空间

list_files = 列出工作空间的目录。
    .path = 默认工作空间
    .recursive = 含子目录
    .limit = 默认 50

search_files = 在文件中搜索匹配的行。
    .pattern = 正则表达式
    .path = 默认全部
    .globs = 同 .gitignore；`!` 排除
    .fixed = 纯文本
    .ignoreCase = 不分大小写
    .all = 含隐藏和忽略的文件
    .limit = 默认 200，最多 10000

get_workspace_info = 获取工作空间的大小。

## 命令

run_command = 在工作空间的沙箱中运行 shell 命令，返回退出码和输出。
    .command = 命令行
    .timeoutMs = 默认 60000

list_commands = 列出运行中和已结束的命令，新的在前。

show_command = 读取命令的输出，运行中也可。

## 消息和产物

send_message = 给智能体或用户发消息。
    .to = 智能体、`user`、`role:ROLE` 或列表
    .payload = 文本或 JSON
    .replyTo = 所回复的消息
    .delayMs = 延迟送达

check_messages = 读取未读消息，并标为已读。
    .limit = 默认 20，最多 100
    .waitMs = 无消息时等待；最多 60000
    .since = 重读此编号之后的消息，不标记

put_artifact = 存储文本或 JSON 供他人用，返回引用。
    .type = 如 spec 或 report
    .content = 文本或 JSON
    .meta = JSON 对象

get_artifact = 读取产物。
    .ref = `artifact:ID`

## 智能体

list_agents = 列出已注册的智能体。
    .limit = 默认 50

show_agent = 查看智能体的角色、层级和上级。
    .id = 智能体

add_agent = 注册智能体。

retire_agent = 停用没有未完成任务和在用直接下级的智能体。

## 智能体社会

create_role = 为你要招募的智能体创建角色：名称和提示词。
    .name = 如 programmer
    .rolePrompt = 提示词
    .tools = 工具或组；默认同你
    .model = 默认为所配置的
    .approve = 需用户审批的工具

find_role_by_name = 查找本运行的角色。
    .name = 名称

spawn_agent = 招募下级智能体，它等待你的第一条消息。taskBrief：{"{"}objective, constraints[], inputs, outputs, completionCriteria, collaborators[], references[], priority{"}"}。
    .roleId = 角色 id
    .role = 角色名称
    .taskBrief = 它要做的事
    .name = 显示名称
    .budget = 含其全部下级

terminate_agent = 解聘下级智能体，保留其工作空间。
    .agentId = 连同其全部下级
    .reason = 原因

get_org = 列出本运行的成员。
    .runId = 默认本运行
    .all = 含已解聘成员

start_run = 用给 root 的需求启动运行。

list_runs = 列出运行。

show_run = 查看一次运行。

stop_run = 停止运行并解聘全部成员。

tell_run = 给 root 或运行的其他成员发消息。

pause_society = 暂停运行或成员。

resume_society = 恢复运行或成员。

set_budget = 设置运行或成员的预算。

list_members = 列出各运行的成员及状态。

list_roles = 列出运行的角色。

read_conversation = 读取成员的对话。

list_approvals = 列出需要审批的工具调用。

decide_approval = 允许或拒绝待审批的工具调用。

## 事件日志、概览和 Webhook

read_log = 读取事件日志，旧的在前。
    .since = 此编号之后
    .before = 从此编号向前
    .limit = 默认 50，最多 1000
    .subject = 如 task/5
    .kind = 如 task.completed；`task.`：全部
    .actor = 由该智能体引起
    .text = 包含此文本

get_overview = 统计任务、智能体和事件的数量。

add_webhook = 注册接收事件的 Webhook。

list_webhooks = 列出 Webhook。

remove_webhook = 移除 Webhook。

## 运行时自带的工具，供运行的成员使用

compress_context = 压缩上下文：此步骤之前的内容替换为 `summary`；未给出时会请你写摘要。
    .summary = 到目前为止的对话摘要：一切不可遗忘的内容

get_context_status = 报告上下文的占用程度。
