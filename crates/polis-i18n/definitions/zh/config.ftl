### Keys of polis.toml, with `-` in place of the dots: what a key is for, and the values that it accepts. The keys of
### `[models.NAME]` begin with `endpoint-`. The English texts are in `polis-cli/src/config/`.

language = 模板和角色的语言。设为 "zh" 时，命令、终端界面以及智能体看到的文字也使用中文。
    .accepts = "en" 或 "zh"
store = 项目的存储。--store 和 POLIS_STORE 优先于它。
    .accepts = postgres:// URL，或用 "" 表示内嵌存储
roles = 八个默认角色之外的角色。
    .accepts = 名称列表
registered_only = 是否拒绝未注册的智能体。若为 false，未注册的智能体按其名称得到相应的角色。
    .accepts = true 或 false
patience = 命令等待被锁定的存储或数据库服务器的最长时间。
    .accepts = 时长

## Tasks

tasks-approval_required = 必须先经 `polis task approve` 批准才能完成的任务类型。
    .accepts = 任务类型的列表
tasks-default_lease = 认领的默认租约。租约到期后任务变为已过期，其他智能体可以认领。
    .accepts = 时长，或用 "" 表示没有租约

## Boards and decisions

whiteboards-max_versions = 白板历史中保留的版本数。
    .accepts = 1 到 1000 之间的数字
whiteboards-mid_reads_all_bottom = 每个中层智能体是否可以读取所有底层白板，而不仅是其下级的白板。
    .accepts = true 或 false
whiteboards-project = 全局白板模板中的项目名称。
    .accepts = 名称，或用 "" 表示目录名
decisions-signatures = 批准一项决策所需的签署数。签署人不足时，必须由全体签署人和用户签署。
    .accepts = 1 到 100 之间的数字
decisions-milestone_signatures = 确认里程碑已达成所需的签署数。
    .accepts = 1 到 100 之间的数字
decisions-appeal_signatures = 决策被否决并申诉之后，批准它所需的签署数。
    .accepts = 1 到 100 之间的数字
decisions-signers = 签署有效且可以行使否决的智能体。若为空：所有在用的顶层智能体。
    .accepts = 智能体列表
blackboard-lock_wait = 写入黑板时，每次尝试等待其他写入者释放锁的最长时间。
    .accepts = 时长
blackboard-lock_tries = 写入黑板以 `423 LOCKED` 失败之前的尝试次数。
    .accepts = 1 到 100 之间的数字
blackboard-writers = 各角色或智能体可以写入的黑板路径。`*` 匹配一个路径分量之内的字符，`**` 匹配任意多个分量。
    .accepts = 从角色、智能体或 "*" 到路径模式列表的表

## Workspaces

workspaces-quota = 一个工作空间中文件的总大小上限；超出时文件工具拒绝写入。设置配额后，每次写入都会测量工作空间。命令不受它限制。
    .accepts = 大小，例如 "2GiB"，或用 "" 表示不限
workspaces-max_read = 单次读取文件的大小上限；更大的文件分段读取。
    .accepts = 大小，例如 "10MiB"

## Sandbox

sandbox-network = 命令的网络访问：无网络、私有的回环接口，或本机的网络。
    .accepts = "off"、"loopback" 或 "on"
sandbox-read = 除工作空间和系统程序之外，命令可以读取的本机路径。
    .accepts = 绝对路径的列表
sandbox-write = 除工作空间之外，命令可以写入的本机路径，例如软件包缓存。
    .accepts = 绝对路径的列表
sandbox-env = 命令的环境变量；"$NAME" 表示传递 polis 自身变量 NAME 的值。polis 环境中的其他变量都不会传递。
    .accepts = 从变量到其值或 "$NAME" 的表
sandbox-memory = 一条命令的所有进程合计的内存上限。
    .accepts = 大小，例如 "512MiB" 或 "4GiB"
sandbox-processes = 一条命令的进程和线程数上限。
    .accepts = 数字
sandbox-file_size = 命令写入的单个文件的大小上限。
    .accepts = 大小，例如 "512MiB" 或 "4GiB"
sandbox-cpu = 命令的每个进程的 CPU 时间上限。
    .accepts = 时长
sandbox-open_files = 命令的每个进程打开的文件数上限。
    .accepts = 数字
sandbox-tmp = 命令私有的 /tmp 的大小。
    .accepts = 大小，例如 "512MiB" 或 "4GiB"
sandbox-output = 执行结果中每个输出流的大小上限；更长的输出只返回开头和结尾。
    .accepts = 大小，例如 "512MiB" 或 "4GiB"
sandbox-spool = 保存长输出的文件的大小上限，该文件位于工作空间旁边。
    .accepts = 大小，例如 "512MiB" 或 "4GiB"
sandbox-timeout = 命令的默认超时。
    .accepts = 时长
sandbox-timeout_ceiling = 请求可以指定的最长超时。
    .accepts = 时长
sandbox-weakest = 命令可以在其中运行的最弱沙箱级别；如果机器只支持更弱的级别，则拒绝执行命令。T0：命名空间、Landlock、seccomp 和控制组；T0u：同上，但内存只监测而不限制；T1：仅 Landlock 和 seccomp；T2：仅资源限制，命令可以做 polis 能做的一切。
    .accepts = "T0"、"T0u"、"T1" 或 "T2"
sandbox-roles = 针对某个角色的覆盖设置，写在 `[sandbox.roles.test-leader]` 这样的表中；针对用户的写在 `[sandbox.roles.user]` 中。
    .accepts = 从角色到由上述键组成的表的表

## Server

serve-listen = `polis serve` 监听的地址。--listen 优先于它。
    .accepts = 地址和端口，或 unix:PATH
serve-tls_cert = 证书链文件（PEM）。--tls-cert 优先于它。
    .accepts = 文件，或用 "" 表示不使用 TLS
serve-tls_key = 证书的私钥文件（PEM）。--tls-key 优先于它。
    .accepts = 文件，或用 "" 表示不使用 TLS
serve-hosts = 除 localhost 和自身地址之外，服务器接受的主机名；带有其他 Host 头的请求会被拒绝。
    .accepts = 名称列表，可带端口
serve-origins = 其页面可以发送请求的源（CORS）；其他源一律拒绝。
    .accepts = 列表，例如 ["https://example.org"]
serve-rate = 限流：每个令牌每秒的请求数。
    .accepts = 1 到 1000000 之间的数字
serve-burst = 限流允许的突发请求数。
    .accepts = 1 到 1000000 之间的数字
serve-wrong_tokens = 每个地址每分钟允许的错误令牌数。格式错误的令牌直接拒绝，不计入其中。
    .accepts = 1 到 1000000 之间的数字
serve-max_body = 请求体的大小上限。
    .accepts = 大小
serve-max_connections = 连接数上限；更多的连接等待有连接关闭。
    .accepts = 1 到 100000 之间的数字
serve-max_requests = 并发请求数上限；更多的请求得到 503。
    .accepts = 1 到 100000 之间的数字
serve-header_timeout = 请求头到达的最长时间，包括之前的空闲时间。
    .accepts = 时长
serve-body_timeout = 请求体到达的最长时间。
    .accepts = 时长
serve-write_timeout = 客户端可以不读取响应的最长时间。
    .accepts = 时长
serve-operation_timeout = 一次操作的最长时间；命令有各自的超时。
    .accepts = 时长
serve-grace = 关闭的宽限期：等待已接受的请求多久之后终止它们。
    .accepts = 时长
serve-access_log = 是否记录每个请求，而不仅是失败的和缓慢的请求。--access-log 可开启它。
    .accepts = true 或 false
serve-slow = 请求耗时达到多长时记录为缓慢。
    .accepts = 时长

## Society

society-team = 运行的默认团队模板。--team 优先于它。
    .accepts = 团队的名称
society-language = 团队角色的语言。
    .accepts = "en"、"zh"，或用 "" 表示 `language` 的值
society-depth = 组织的最大深度；根智能体的直接下级深度为 1。
    .accepts = 1 到 100 之间的数字
society-agents = 一次运行中同时存在的智能体数上限。
    .accepts = 1 到 100000 之间的数字
society-spawns_a_minute = 一次运行中每分钟招募的智能体数上限。
    .accepts = 1 到 100000 之间的数字
society-approve = 其调用需要用户审批的工具，例如 ["run_command"]。
    .accepts = 工具列表
society-budget-tokens = 一次运行的 token 数上限，提示词和回答合计。达到上限时，运行暂停并询问用户。
    .accepts = 数字，0 表示不限
society-budget-money = 一次运行的费用上限，按各端点的价格计算。
    .accepts = 数字，0 表示不限
society-budget-turns = 一次运行中模型回答的次数上限。
    .accepts = 数字，0 表示不限
society-budget-commands = 一次运行可以启动的命令数上限。
    .accepts = 数字，0 表示不限
society-budget-wall = 一次运行的最长持续时间。
    .accepts = 时长，或用 "" 表示不限
society-lease = 运行租约：没有心跳的工作进程在多长时间之后失去其运行，由另一个工作进程继续。
    .accepts = 时长
society-concurrency = 并发的模型请求数上限，所有端点合计。
    .accepts = 1 到 10000 之间的数字
society-telemetry = 接收追踪数据的 OpenTelemetry 收集器（OTLP over HTTP），例如 http://localhost:4318；OTEL_EXPORTER_OTLP_ENDPOINT 优先于它。
    .accepts = http:// 或 https:// URL，或用 "" 表示没有

## Model endpoints

models-default = 默认端点，供角色未指定端点的智能体使用。--model 和 POLIS_MODEL 优先于它。
    .accepts = 端点的名称，或用 "" 表示第一个
endpoint-base_url = API 的基础 URL；其后会附加 `/chat/completions`。
    .accepts = http:// 或 https:// URL
endpoint-model = 该端点上模型的名称。
    .accepts = 名称
endpoint-key_env = 保存 API 密钥的环境变量。
    .accepts = 环境变量的名称，或用 "" 表示没有
endpoint-key_file = 只包含 API 密钥的文件；相对路径以项目目录为基准。
    .accepts = 文件，或用 "" 表示没有
endpoint-tags = 描述模型特长的标签，例如 ["code"]；角色按名称或标签选择端点。
    .accepts = 词语列表
endpoint-temperature = 采样温度，例如 0.2；未设置时采用提供方的默认值。
    .accepts = 0 到 2 之间的数字
endpoint-max_tokens = 一次回答的 token 数上限，例如 8192；未设置时采用提供方的默认值。
    .accepts = 1 到 1000000 之间的数字
endpoint-context = 上下文窗口：提示词和回答合计的 token 数。对话在窗口占满之前会被压缩。
    .accepts = token 数
endpoint-concurrency = 并发请求数上限，所有智能体合计。
    .accepts = 1 到 10000 之间的数字
endpoint-requests_a_minute = 每分钟的请求数上限。端点自身的 429 和 Retry-After 始终会被遵守。
    .accepts = 数字，0 表示不限
endpoint-stream = 是否以流的方式接收回答，以免把缓慢的回答误认为连接中断。
    .accepts = true 或 false
endpoint-price_in = 一百万个提示词 token 的价格，使用预算的货币。
    .accepts = 数字
endpoint-price_out = 一百万个回答 token 的价格。
    .accepts = 数字
