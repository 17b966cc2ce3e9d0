### 模型看到的工具及其参数。每次请求都包含这些文字，因此尽量简短。

## 任务

TaskCreate = 在任务板新建任务。
    .subject = 一行，最多 1000 字符
    .description = 详情
    .activeForm = 进行中显示的文字
    .metadata = 任意 JSON 对象
    .requiredRole = 负责人的角色
    .taskType = 工作种类
    .priority = 默认 normal
    .addBlocks = 等待它的任务
    .addBlockedBy = 它等待的任务

TaskList = 按编号列出任务。
    .roleFilter = 该角色可认领或负责的
    .status = 仅此状态的
    .owner = 仅此智能体的
    .taskType = 仅此类型的
    .priority = 仅此优先级的
    .ready = 仅就绪的
    .search = 标题或描述中的词
    .newest = 新的在前
    .limit = 默认 50，最多 1000

TaskGet = 读取任务全文。
    .taskId = 任务编号

TaskUpdate = 修改或完成任务。
    .taskId = 任务编号
    .status = 新状态
    .subject = 新标题
    .description = 新描述
    .activeForm = 新进度文字
    .owner = 空则释放
    .metadata = 合并；null 删除键
    .addBlocks = 等待它的任务
    .addBlockedBy = 它等待的任务
    .removeBlocks = 不再等待它的任务
    .removeBlockedBy = 它不再等待的任务
    .requiredRole = 空则移除
    .taskType = 空则移除
    .priority = 新优先级
    .expectedVersion = 仅当版本未变

TaskClaim = 工作前认领并开始任务。
    .taskId = 默认最合适的
    .expectedVersion = 仅当版本未变
    .leaseMs = 认领期限；最多 31622400000

TaskRelease = 放弃你负责的任务。
    .taskId = 任务编号
    .expectedVersion = 仅当版本未变

TaskHeartbeat = 续期你对任务的认领。
    .taskId = 任务编号
    .leaseMs = 默认不变，最多 31622400000

TaskApprove = 审批任务的完成（团队负责人）。
    .taskId = 任务编号
    .note = 你的备注
    .expectedVersion = 仅当版本未变

TaskRecommend = 为你可认领的任务排序，附理由。
    .limit = 默认 5，最多 100

TaskComment = 评论任务。
    .taskId = 任务编号
    .body = @name 提及智能体
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
    .since = 从此时间起，如 2026-02-15T00:00:00Z
    .until = 此时间之前
    .by = 同时按时段统计

## 白板

whiteboard_list = 列出你可读的白板及版本。
    .limit = 默认 50

whiteboard_read = 读取共享的 Markdown 白板。
    .board = global、top、mid/ROLE 或 bottom/AGENT
    .ifNewerThan = 已有版本；未变则无文本
    .section = 标题；默认全部

whiteboard_write = 替换白板文本。
    .board = 同 whiteboard_read
    .content = 新文本
    .expectedVersion = 所读版本；非空必填

whiteboard_append = 在白板追加署名条目。
    .board = 同 whiteboard_read
    .content = 条目

whiteboard_section = 修改白板的一个章节。
    .board = 同 whiteboard_read
    .title = 标题
    .act = set、append 可新建章节
    .content = 要设置或追加的文本
    .expectedVersion = 仅当版本未变
    .expectedSection = 所读 `sectionVersion`

whiteboard_lock = 锁定白板，他人不能写入。
    .board = 同 whiteboard_read
    .ttlMs = 默认 5000，最多 3600000
    .token = 要续期的令牌

whiteboard_unlock = 解除你对白板的锁定。
    .board = 同 whiteboard_read
    .token = 锁定的令牌

whiteboard_history = 列出白板版本，新的在前。
    .board = 同 whiteboard_read
    .limit = 默认 50

whiteboard_show = 读取白板的旧版本。
    .board = 同 whiteboard_read
    .version = 要读取的版本

whiteboard_diff = 比较白板的两个版本。
    .board = 同 whiteboard_read
    .from = 旧版本
    .to = 默认当前版本

whiteboard_restore = 恢复白板的旧版本。
    .board = 同 whiteboard_read
    .version = 要恢复的版本
    .expectedVersion = 仅当版本未变

whiteboard_decisions = 列出白板上的决策。
    .board = 同 whiteboard_read

whiteboard_decide = 提出决策，或签署、否决、申诉。
    .board = 同 whiteboard_read
    .act = appeal：重新表决
    .id = 决策；propose 不用
    .content = 提案
    .milestone = 宣布达成的里程碑
    .reason = 否决原因

whiteboard_milestones = 列出白板上的里程碑。
    .board = 同 whiteboard_read

whiteboard_milestone = 添加里程碑，或标记为已达成。
    .board = 同 whiteboard_read
    .title = 里程碑标题
    .add = 说明；省略则标记为已达成

## 黑板

blackboard_read = 读取共享的 Markdown 文件。
    .path = 如 tasks/5/status.md

blackboard_write = 写入共享 Markdown 文件。
    .path = 同 blackboard_read
    .content = 文本
    .mode = 替换或追加

## 文件

read_file = 读取文件或其中几行。
    .path = 相对工作空间
    .startLine = 首行，从 1 起
    .endLine = 末行

write_file = 新建或替换文件，含目录。
    .path = 相对工作空间
    .content = 完整内容
    .encoding = 默认 utf8
    .expectedHash = 仅当 SHA-256 未变
    .createOnly = 不覆盖

edit_file = 替换文件中的文本。
    .path = 相对工作空间
    .oldText = 原文本
    .newText = 新文本
    .replaceAll = 默认仅一处
    .expectedHash = 仅当 SHA-256 未变

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

search_files = 搜索匹配的行。
    .pattern = 正则表达式
    .path = 默认全部
    .globs = 同 .gitignore，! 排除
    .fixed = 纯文本
    .ignoreCase = 忽略大小写
    .all = 含隐藏和忽略的文件
    .limit = 默认 200，最多 10000

get_workspace_info = 获取工作空间的大小。

## 命令

run_command = 在工作空间沙箱中运行命令。
    .command = 命令行
    .timeoutMs = 时限

list_commands = 列出运行中和已结束的命令，新的在前。
    .workspace = 在此智能体的工作空间中的
    .agentId = 由此智能体运行的
    .running = true：仅运行中；false：仅已结束
    .before = 前一页的 `next`
    .limit = 默认 50，最多 200

show_command = 读取命令的输出，运行中也可。
    .id = 命令 id

## 消息和产物

send_message = 发送消息。
    .to = 智能体、user、role:ROLE 或列表
    .payload = 文本或 JSON
    .replyTo = 所回复的消息
    .delayMs = 延迟；最多 2592000000

check_messages = 读取新消息并标为已读。
    .limit = 默认 20，最多 100
    .waitMs = 最多等 60000
    .since = 重读此后的消息，不标记

put_artifact = 存储文本或 JSON，返回引用。
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
    .id = id，如 backend-1
    .name = 显示名称；默认同 id
    .role = 如 backend-leader
    .layer = 默认：低于上级，或按角色
    .supervisor = 上级；默认 root

retire_agent = 停用没有未完成任务和在用直接下级的智能体。
    .id = 要停用的智能体

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
    .budget = {"{"}tokens, turns, commands, wallMs{"}"}，含其全部下级

terminate_agent = 解聘下级智能体，保留其工作空间。
    .agentId = 连同其全部下级
    .reason = 解聘原因

get_org = 列出本运行的成员。
    .runId = 默认本运行
    .all = 含已解聘成员

start_run = 用给 root 的需求启动运行。
    .requirement = 运行要达成的目标
    .message = 给 root 的第一条消息；默认为需求
    .runId = 新运行的 id；默认自动生成
    .team = 团队模板
    .budget = 整个运行的 {"{"}tokens, micros（货币的百万分之一）, turns, commands, wallMs{"}"}
    .roles = 同 create_role；`root` 是 root 自己的角色
    .approve = 需用户审批的工具

list_runs = 列出运行。
    .status = 默认：除已停止外的全部
    .all = 含已停止的运行
    .limit = 默认全部

show_run = 查看一次运行。
    .runId = 要查看的运行

stop_run = 停止运行并解聘全部成员。
    .runId = 要停止的运行

tell_run = 给 root 或运行的其他成员发消息。
    .runId = 接收消息的运行
    .to = 智能体、role:ROLE 或列表；默认 root
    .payload = 文本或 JSON
    .replyTo = 所回复的消息

pause_society = 暂停运行或成员。
    .runId = 默认为成员所在的运行
    .agentId = 要暂停的成员；默认整个运行
    .subtree = 连同其全部下级
    .reason = 显示在状态中

resume_society = 恢复运行或成员。
    .runId = 默认为成员所在的运行
    .agentId = 要恢复的成员；默认整个运行
    .subtree = 连同其全部下级
    .reason = 显示在状态中

set_budget = 设置运行或成员的预算。
    .runId = 默认为成员所在的运行
    .agentId = 成员，含其全部下级；默认整个运行
    .budget = 累计上限：{"{"}tokens, micros（货币的百万分之一）, turns, commands, wallMs{"}"}；省略则不变
    .replace = 移除省略的上限

list_members = 列出各运行的成员及状态。
    .runId = 仅此运行的
    .status = 默认：除已解聘外的全部
    .limit = 最多 1000

list_roles = 列出运行的角色。
    .runId = 默认本运行

read_conversation = 读取成员的对话。
    .agentId = 对话所属的成员
    .runId = 成员为 root 时必填
    .from = 首个回合；默认最新的回合
    .limit = 默认 20 个回合，最多 200

list_approvals = 列出需要审批的工具调用。
    .runId = 仅此运行的
    .all = 含已决定的
    .limit = 默认全部

decide_approval = 批准或拒绝待审批的工具调用。
    .id = 审批 id
    .allowed = 是否批准此调用
    .note = 给智能体的理由或指示

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
    .url = http:// 或 https:// 地址
    .kinds = 如 task.completed；`task.` 表示所有任务事件；默认全部
    .since = 此编号之后的事件；默认仅新事件

list_webhooks = 列出 Webhook。

remove_webhook = 移除 Webhook。
    .id = 要移除的 Webhook

## 运行时自带的工具，供运行的成员使用

compress_context = 压缩上下文：此步骤之前的内容替换为 `summary`；未给出时会请你写摘要。
    .summary = 到目前为止的对话摘要：一切不可遗忘的内容

get_context_status = 报告上下文的占用程度。
