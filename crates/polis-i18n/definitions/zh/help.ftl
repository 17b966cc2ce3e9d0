### Chinese help of the commands. The id of a message is the path of a command, joined by `-`; `polis` is the program
### itself, with the global options. An attribute is an argument, by its name in the source code; `ARGUMENT-VALUE` is a
### possible value of it, and `after` the text below the arguments. The English texts are the documentation comments in
### `polis-cli/src/`. An argument that several commands have, with the same meaning, is in `shared`.

## Texts that belong to no single command

shared =
    .help = 显示帮助
    .help-command = 显示此帮助，或某个子命令的帮助
    .help-long = 显示帮助（-h 显示摘要）
    .help-short = 显示帮助（--help 显示更多）
    .version = 显示版本
    .access_log = 记录每个请求，而不仅是失败的和缓慢的请求
    .allow_plaintext = 允许在其他机器可以连接之处不使用 TLS 监听，用于 TLS 代理之后
    .as_json = 内容是 JSON 而不是文本
    .board = 白板：global、top、mid/ROLE 或 bottom/AGENT
    .client = MCP 客户端
    .commands = 命令数上限；0 表示不限
    .content = 内容；- 表示读取标准输入
    .content_file = 内容所在的文件；- 表示读取标准输入
    .cursor = 从此游标之后继续：上一页的 `next`
    .expect = 您读取的版本；白板此后有变更则拒绝
    .expect_hash = 您读取的内容的 SHA-256；文件此后有变更则拒绝
    .expect_section = 章节的版本，即 `board read --section` 的 `sectionVersion`（新章节为 "absent"）：白板其他位置的变更不构成冲突
    .expected_version = 您读取的版本；任务此后有变更则拒绝
    .fast = 不停顿地播放录制内容
    .id = 任务编号
    .kind = 只包含这些类型，例如 task.completed；task. 表示所有任务事件
    .limit = 任务数上限；默认：全部
    .listen = 监听地址：IP 地址和端口（0：任意空闲端口），或 unix:PATH；默认：127.0.0.1:7707
    .log_format = 标准错误上日志的格式
    .log_format-json = 每行一个 JSON 文档
    .log_format-text = 供人阅读的文本
    .member = 智能体
    .merge = 与此后的变更合并，前提是互不重叠
    .model = 驱动此存储中运行的模型：已配置的端点、模型名称，或 replay:FILE
    .money = 费用上限，按端点的价格计算；0 表示不限
    .no_society = 即使配置了模型也不驱动运行
    .note = 给智能体的备注
    .nth = 有多个同名章节时取第几个：1、2、……
    .of = 使用哪个智能体的工作空间；默认：调用者自己的。只有用户可以指定任意智能体
    .path = 文件，相对于工作空间的路径
    .reason = 理由，显示在智能体的状态中
    .reply_to = 所回复消息的编号
    .run = 运行；默认：最新的未停止的运行
    .scope-project = 项目的配置，适用于项目的所有用户
    .scope-user = 您自己的配置，适用于所有项目
    .since = 从此序号之后开始；默认：从下一个事件开始
    .subtree = 包含它下面的所有智能体
    .team = 团队
    .title = 标题的文字；模板中的标题可以用任一语言给出
    .tls_cert = TLS 证书链（PEM）
    .tls_key = 证书的私钥（PEM）
    .token = `board lock` 输出的令牌
    .tokens = token 数上限，提示词和回答合计；0 表示不限
    .tools = 向客户端列出的工具组；默认：usual。`all`：面向智能体的全部工具。默认和使用 `all` 时，客户端可调用所有工具，否则只能调用列出的工具
    .ttl = 锁定的时长，最长 1h
    .turns = 模型回答的次数上限；0 表示不限
    .wall = 最长持续时间，例如 2h；0 表示不限

headings =
    .budget = 预算
    .global-options = 全局选项

value-names =
    .ACTIVE_FORM = 文字
    .ADDR = 地址
    .AGENT = 智能体
    .AMOUNT = 金额
    .BOARD = 白板
    .BODY = 文字
    .BY = 时段
    .CLIENT = 客户端
    .COMMAND = 命令
    .CURSOR = 游标
    .DESCRIPTION = 描述
    .DIR = 目录
    .DIRECTORY = 目录
    .DURATION = 时长
    .FILE = 文件
    .FORMAT = 格式
    .FROM = 来源
    .GROUP = 工具组
    .HASH = 哈希
    .KIND = 类型
    .LANG = 语言
    .LAYER = 层级
    .MODE = 模式
    .MODEL = 模型
    .NAME = 名称
    .NOTE = 备注
    .OBJECT = 对象
    .OPTIONS = 选项
    .ORDER = 排序
    .PATH = 路径
    .PATTERN = 模式
    .PRIORITY = 优先级
    .REASON = 理由
    .REF = 引用
    .REQUIREMENT = 需求
    .ROLE = 角色
    .RUN = 运行
    .SCOPE = 范围
    .SEQ = 序号
    .STATUS = 状态
    .SUBJECT = 标题
    .TEAM = 团队
    .TEXT = 文字
    .TIME = 时间
    .TITLE = 标题
    .TO = 目标
    .TOKEN = 令牌
    .TOOL = 工具
    .TURN = 回合
    .TYPE = 类型
    .VERSION = 版本
    .WHAT = 名称
    .WHEN = 时间
    .WORKSPACE = 目录

## polis

polis = 协调一组 AI 智能体：独占认领的任务板、带版本的白板、工作空间、消息和运行
    .after =
        退出码：0 成功，1 内部错误，2 用法错误或输入无效，3 禁止，4 未找到，5 冲突（版本、状态转换、循环依赖、被阻塞），6 被锁定或超时。
        从 `polis init` 开始，然后运行 `polis task create --subject "..."`。
    .agent = 以哪个智能体的身份操作；默认：用户（`user`）
    .dir = 项目目录；默认：像 git 一样从当前目录向上查找
    .json = 输出 JSON：单个文档；流则每行一个文档
    .lang = 语言；默认：取 POLIS_LANG，否则项目或区域设置为中文时用中文，其余用英文
    .store = 存储：项目目录，或 postgres:// URL
    .verbose = 输出内部错误的底层原因

## polis init

init = 在目录中创建项目

## polis agent

agent = 注册、列出和停用智能体

agent-add = 注册智能体
    .id = 智能体 ID：字母、数字、'-'、'_' 和 '.'
    .layer = 层级；默认：上级的下一层，或由角色决定
    .name = 显示名称；默认：ID
    .role = 角色
    .supervisor = 上级；默认：无（直属 root，并有自己的工作空间）
    .workspace = 将它的工作空间绑定到此目录；目录不存在时创建

agent-list = 列出所有智能体

agent-retire = 停用一个没有未完成任务、也没有下级的智能体
    .id = 智能体 ID

agent-show = 显示智能体
    .id = 智能体 ID

agent-token = 签发、列出和吊销智能体通过网络认证所用的令牌

agent-token-issue = 签发令牌；只显示一次
    .expires = 有效期，例如 12h 或 30d；默认：直到被吊销
    .id = 智能体 ID；`user` 表示用户
    .scope = 权限范围：all、read，或以逗号分隔的 AREA 和 AREA:read 列表；AREA 为 tasks、boards、blackboard、files、commands、messages、artifacts、agents、society、events、server

agent-token-list = 列出令牌，不含其密钥
    .id = 只列出此智能体的令牌

agent-token-revoke = 吊销一个令牌，或某个智能体的所有令牌，立即生效
    .id = 令牌编号或智能体 ID

agent-tree = 显示汇报关系树

## polis task

task = 创建、认领、更新和列出任务

task-approve = 批准任务完成（团队负责人）
    .note = 审批备注

task-claim = 认领任务：指定的任务，或最适合您角色的就绪任务
    .force_assign = 跨角色指派（团队负责人）
    .id = 任务编号；默认：最适合您角色的就绪任务
    .lease = 租约，例如 30m；没有心跳时认领到期

task-comment = 评论任务；用 @名称 提及智能体
    .body = 文字；- 表示读取标准输入
    .reply_to = 所回复的评论的编号

task-comments = 列出任务的评论
    .before = 只列出此评论之前的评论
    .limit = 只列出最新的 N 条评论

task-create = 创建任务
    .active_form = 任务进行期间显示的文字，例如“正在修复登录”
    .add_blocked_by = 阻塞此任务的任务
    .add_blocks = 被此任务阻塞的任务
    .description = 描述；- 表示读取标准输入
    .metadata = 元数据，一个 JSON 对象；其中的 `priority` 即优先级
    .priority = 优先级：critical、high、normal（默认）或 low；优先级高的先被认领
    .required_role = 负责人必须具有的角色
    .subject = 标题，一行文字
    .task_type = 任务类型

task-delete = 删除任务；保留其历史

task-export = 将每个任务导出为 N.json
    .directory = 目录；不存在时创建

task-get = 显示任务

task-graph = 绘制依赖图
    .format = 输出格式
    .id = 只包含与此任务相连的任务

task-heartbeat = 为认领续租
    .lease = 租约的新时长

task-history = 输出任务的历史

task-import = 在一次提交中导入一个目录的 N.json 任务文件；无效的文件会被修复或跳过
    .directory = 目录
    .strict = 只要有文件无效就什么都不导入

task-list = 列出任务
    .newest = 最新的在前；按优先级排序时，同一优先级内最新的在前
    .owner = 只列出由此智能体负责的任务
    .priority = 只列出此优先级的任务：critical、high、normal 或 low；未设优先级的任务视为 normal
    .ready = 只列出现在可以认领的任务
    .required_role = 只列出恰好要求此角色的任务；"" 表示不要求角色的任务
    .role_filter = 只列出此角色可见的任务：要求此角色的、不要求角色的，以及由它负责的
    .search = 只列出标题或描述中包含所有这些词的任务；12 或 #12 还会匹配任务编号
    .sort = 排序方式：number（默认）或 priority，后者优先级高的在前
    .status = 只列出此状态的任务：pending、in_progress 或 completed
    .task_type = 只列出此类型的任务

task-ready = 列出现在可以认领的任务
    .role_filter = 只列出此角色可以认领的任务；默认：如果您是智能体，则为自己的角色

task-recommend = 对您可以认领的任务排序，并说明理由：依次按已指派给您、优先级、等待它的任务数、类型与角色是否相符、创建先后
    .limit = 任务数上限

task-release = 释放任务；它仍处于进行中，可以再次被认领

task-stats = 输出成效指标：角色匹配、冲突、跨角色认领、无效的状态转换
    .by = 同时输出每个时段
    .since = 只统计此时间之后：2026-02-15T00:00:00Z 这样的时间，或 7d 这样的多久之前
    .until = 只统计此时间之前

task-update = 修改任务
    .active_form = 任务进行期间显示的文字；空值表示移除
    .add_blocked_by = 添加阻塞此任务的任务
    .add_blocks = 添加被此任务阻塞的任务
    .description = 新描述；- 表示读取标准输入
    .force_assign = 跨角色指派（团队负责人）
    .metadata = 要合并的元数据，一个 JSON 对象；null 表示移除该键
    .owner = 新的负责人；空值表示释放任务
    .priority = 新的优先级：critical、high、normal 或 low
    .remove_blocked_by = 不再阻塞此任务的任务
    .remove_blocks = 不再被此任务阻塞的任务
    .required_role = 新的所需角色（团队负责人）；空值表示移除
    .status = 新状态：in_progress、completed 或 deleted
    .subject = 新标题
    .task_type = 新类型（团队负责人）；空值表示移除

## polis board

board = 读写白板：带版本、章节和锁定的共享 Markdown

board-append = 向白板追加一个条目，带时间和作者

board-can = 说明您是否可以读取、写入和追加，以及原因

board-decisions = 列出白板上记录的决策

board-diff = 比较两个版本
    .from = 较早的版本
    .to = 较新的版本；默认：当前版本

board-history = 列出白板的版本，最新的在前

board-list = 列出您可以读取的白板

board-lock = 在限定时间内锁定白板

board-milestones = 列出白板上的里程碑

board-read = 输出白板，或其中的一个章节
    .if_newer_than = 如果白板仍为版本 V，则只输出“未变化”
    .render = 为终端渲染 Markdown
    .section = 只输出具有此标题的章节

board-renew = 延长锁定

board-restore = 将较早的版本恢复为新版本
    .version = 要恢复的版本

board-section = 只修改一个章节，其余不变

board-section-append = 向章节追加文字；章节不存在时创建

board-section-delete = 移除章节及其标题

board-section-set = 替换章节的文字；章节不存在时创建

board-show = 输出较早的版本
    .version = 版本号

board-unlock = 解除锁定
    .force = 解除其他智能体的锁定（只有用户可以）

board-watch = 实时跟踪白板
    .limit = 出现 N 个新版本后停止
    .since = 从版本 V 之后开始；默认：当前版本

board-write = 替换白板的全文
    .force = 覆盖当前的文字；历史中仍会保留

## polis decision

decision = 提出、签署、否决和申诉决策

decision-appeal = 对被否决的决策申请第二次表决
    .board = 白板
    .id = 决策编号，例如 3

decision-propose = 提出决策
    .board = 白板
    .milestone = 它宣布达成的里程碑的标题；需要 `decisions.milestone_signatures`（默认 3）个签署，之后将里程碑标记为已达成

decision-sign = 签署决策
    .board = 白板
    .id = 决策编号，例如 3

decision-veto = 否决决策
    .board = 白板
    .id = 决策编号，例如 3
    .reason = 理由

## polis milestone

milestone = 添加里程碑，并标记为已达成

milestone-add = 添加里程碑
    .board = 白板
    .description = 描述
    .title = 标题

milestone-done = 将里程碑标记为已达成
    .board = 白板
    .title = 标题

## polis blackboard

blackboard = 按路径读写黑板文件
    .root = 包含 `blackboard/` 的目录；默认：此项目的 .agent-workspace；在项目之外，如果存在 ~/clawos/blackboard 则为 ~/clawos

blackboard-list = 列出文件

blackboard-read = 输出文件
    .path = 文件，相对于黑板的路径

blackboard-write = 写入文件；先前的版本保存为 PATH.bak
    .mode = 替换文件，或另起一行追加
    .path = 文件，相对于黑板的路径

## polis ws

ws = 读取和修改工作空间的文件

ws-bind = 将工作空间绑定到您选择的目录
    .directory = 目录；不存在时创建
    .force = 即使工作空间正在别处使用也绑定；其文件留在原目录中

ws-cat = 输出文件
    .base64 = 以 base64 输出，用于非文本文件
    .lines = 只输出这些行：10-20、10-、-20 或 10
    .max_bytes = 只输出前 N 个字节

ws-commands = 列出过去的和正在运行的命令，或显示某条命令的输出
    .before = 从此命令之前继续：上一页的 `next`
    .by = 只列出此智能体的命令
    .id = 命令 ID：显示其输出，运行期间也可以
    .limit = 命令数上限；默认：50，最多 200
    .running = 只列出正在运行的命令

ws-edit = 替换文件中的文字
    .all = 替换所有出现之处
    .new = 新的文字
    .old = 要替换的文字

ws-info = 统计工作空间的文件数

ws-list = 列出所有工作空间

ws-ls = 列出目录
    .path = 目录，相对于工作空间的路径；默认：工作空间本身
    .recursive = 包含子目录

ws-mkdir = 创建目录及其缺少的上级目录
    .path = 目录，相对于工作空间的路径

ws-mv = 移动或重命名文件或目录
    .from = 来源，相对于工作空间的路径
    .overwrite = 替换已存在的文件
    .to = 目标，相对于工作空间的路径

ws-rm = 删除文件或目录
    .path = 文件或目录，相对于工作空间的路径
    .recursive = 删除目录及其中的一切

ws-search = 搜索文件内容
    .all = 包含被 .gitignore 排除的文件和隐藏文件
    .fixed = 将模式视为纯文本
    .glob = 只搜索路径匹配此通配模式的文件，规则同 .gitignore；! 表示排除；可重复使用
    .ignore_case = 忽略大小写
    .limit = 匹配数上限；默认：200
    .path = 要搜索的文件或目录，相对于工作空间的路径；默认：整个工作空间
    .pattern = 正则表达式

ws-write = 以原子方式写入文件
    .create_only = 文件已存在则拒绝

## polis exec

exec = 在工作空间的沙箱中执行命令
    .command = 命令：单个参数是 shell 命令行，多个参数是程序及其参数
    .timeout_ms = 超时，以毫秒为单位；默认：`sandbox.timeout`

## polis message

message = 在智能体之间收发消息

message-check = 显示智能体（--as）的未读消息，并标记为已读
    .limit = 消息数上限
    .since = 重新读取此 ID 之后的消息，不作标记
    .wait = 等待消息的时长，例如 30s；最长 1m

message-send = 发送消息
    .delay = 投递延迟，例如 10m
    .to = 收件人：智能体 ID、`user` 或 role:ROLE

## polis artifact

artifact = 存储产物，并按引用取出

artifact-get = 输出产物
    .reference = `artifact put` 输出的引用

artifact-put = 存储产物并输出其引用
    .kind = 产物类型，例如 spec、code 或 report
    .meta = 随产物存储的元数据，一个 JSON 对象

## polis webhook

webhook = 管理通过 HTTP 接收事件的 Webhook

webhook-add = 添加 Webhook：`polis serve` 运行期间将事件发送到某个 URL
    .url = URL：以 http:// 或 https:// 开头

webhook-list = 列出 Webhook 及其投递状态

webhook-remove = 移除 Webhook
    .id = Webhook 的 ID

## polis run

run = 启动或恢复一次运行，并观察它
    .approve = 其调用需要您审批的工具；可重复使用
    .detach = 只启动运行；由此存储上的 `polis serve` 驱动它
    .model = 模型：已配置的端点、模型名称，或 replay:FILE
    .record = 将模型的回答录制到文件，供 --model replay:FILE 使用
    .requirement = 需求，用自然语言描述；`-` 表示从标准输入读取
    .resume = 恢复一次运行：指定的运行，或最新的未停止的运行
    .team = 起始的团队模板；默认：dev-team
    .workspace = 工作目录，不存在时创建；默认：.agent-workspace 下的一个目录
    .yes = 批准所有需要审批的调用

## polis society

society = 查看和控制此存储中的运行

society-approvals = 列出需要审批的工具调用
    .all = 包含已审批的调用
    .run = 只列出此运行的调用

society-approve = 批准调用
    .id = `polis society approvals` 中的审批 ID；默认：唯一待审批的调用

society-budget = 显示或设置运行或其中一个智能体的预算
    .member = 只针对此智能体及其下面的所有智能体；默认：整个运行
    .replace = 移除此处未给出的所有限制

society-deny = 拒绝调用
    .id = `polis society approvals` 中的审批 ID；默认：唯一待审批的调用

society-log = 逐回合显示智能体的对话
    .from = 要显示的第一个回合；默认：最新的回合
    .full = 完整显示很长的结果
    .limit = 回合数上限
    .run = 运行；默认：该智能体的运行，或最新的未停止的运行

society-pause = 暂停运行或其中的一个智能体
    .member = 只针对运行中的此智能体

society-ps = 列出运行
    .all = 包含已停止的运行

society-resume = 恢复运行或其中的一个智能体
    .member = 只针对运行中的此智能体

society-roles = 列出运行的角色

society-send = 向智能体发送消息
    .run = 运行；默认：该智能体的运行，或最新的未停止的运行
    .text = 文字；`-` 表示从标准输入读取

society-stop = 停止运行：解聘其所有智能体；文件会保留

society-team = 列出和显示团队（运行起始时的角色），并写出其文件供编辑

society-team-init = 将内置团队模板的文件复制到此项目中供编辑

society-team-list = 列出可用的团队模板

society-team-show = 输出团队模板的角色

society-tree = 显示运行的成员及其活动
    .all = 包含已解聘的成员

## polis serve

serve = 提供 HTTP API、MCP 和网页

## polis open

open = 在浏览器中打开网页并登录；没有服务器在运行时启动一个
    .no_browser = 只输出链接

## polis tui

tui = 启动终端界面
    .after = 在 80x24 的终端和 ssh 中都可使用，也支持鼠标。NO_COLOR 关闭颜色；白板用 $VISUAL 或 $EDITOR 编辑，覆盖并发的变更需要确认。
    .tab = 首先显示的标签页：now、tasks、boards、agents、workspaces 或 events

## polis mcp

mcp = 为智能体运行 MCP 服务器，或将它安装到 MCP 客户端
    .served_agent = 客户端以哪个智能体的身份操作

mcp-install = 将服务器加入 MCP 客户端的配置，并注册其智能体
    .allow_tools = 允许客户端不询问您就使用 polis 的所有工具（codex、gemini）
    .installed_agent = 客户端以哪个智能体的身份操作；默认：客户端的名称
    .print = 只输出将要写入的内容
    .role = 新智能体的角色；默认：由其名称决定，或 backend-leader
    .scope = 要写入的配置；默认：项目的配置（如果客户端有）

mcp-uninstall = 从 MCP 客户端的配置中移除服务器；其智能体仍保持注册
    .scope = 要修改的配置；默认：项目的配置（如果客户端有）

## polis log

log = 输出事件日志
    .actor = 只包含此智能体的事件
    .before = 只包含此序号之前的事件；配合 --limit 时取其中最新的
    .kind = 只包含此类型的事件，例如 task.completed；task. 表示所有任务事件
    .last = 只包含最新的 N 个事件
    .limit = 事件数上限
    .search = 只包含含有此文字的事件
    .since = 只包含此序号之后的事件
    .subject = 只包含关于此对象的事件，例如 task/5

## polis watch

watch = 实时跟踪事件日志
    .limit = 出现 N 个事件后停止

## polis stats

stats = 统计任务、智能体和事件的数量

## polis doctor

doctor = 检查安装和存储
    .fix = 修复可以在不丢失数据的情况下修复的问题：让 git 忽略数据目录

## polis trust

trust = 信任一个不是由当前用户在本机创建的项目
    .directory = 项目目录；默认：当前目录
    .release = 不再将此目录视为智能体的工作空间，使它自身可以成为项目，或绑定到别处
    .remove = 撤销信任：polis 拒绝此项目，直到再次信任它

## polis config

config = 显示或检查配置

config-check = 检查 polis.toml 和 rbac.yaml

config-show = 输出每个键及其值和说明

## polis demo

demo = 观看演示：一组智能体编写程序，或多个进程在任务板上协作；无需任何准备

demo-board = 七个真实的进程在任务板上协作；其中一个会被强行终止
    .keep = 结束后保留目录

demo-dev-team = 根智能体、架构师和程序员编写程序；没有给出需求时，模型是一段录制内容
    .requirement = 代替录制的程序，要编写什么；需要模型，参见 `polis run`
    .workspace = 程序的目录；默认：演示自身目录中的一个目录

## polis schema

schema = 输出 JSON Schema
    .what = Schema 的名称

## polis completions

completions = 输出 shell 补全脚本
    .shell = Shell 的种类

## polis man

man = 将手册页写入目录
    .directory = 目录，例如 ~/.local/share/man/man1
