command-person-is-no-agent = “user”是用户，不是已注册的智能体。
    .hint = 运行 `polis agent list` 查看智能体

command-content-not-utf8 = 内容不是 UTF-8。
    .hint = 请转换为 UTF-8；未作任何更改

command-content-unreadable = 内容文件无法读取：{ $reason ->
        [missing] 它不存在
        [denied] 你没有读取权限
        [directory] 它是目录
        [no-file] 它不是可读的文件
       *[other] { $reason }
    }。
    .hint = 请检查其名称以及你是否有权读取

command-not-json = 内容不是 JSON：{ $error }。
    .hint = 去掉 --as-json 即可发送文本

command-invalid-json = JSON 无效：{ $error }。
    .hint = 请检查内容和 --meta 的 JSON

command-not-a-time = { $text } 不是时间。
    .hint = 请写成 2026-02-15T00:00:00Z，或用 7d 表示一周前

command-man-pages-not-written = 手册页无法写到那里。
    .hint = 请指定你有权写入的目录

command-lonely-tls-setting = serve.tls_cert 和 serve.tls_key 只设置了其中之一。
    .hint = 请两者都设置，或都不设置

command-stdin-not-utf8 = 标准输入不是 UTF-8。
    .hint = 请转换为 UTF-8

command-invalid-duration = 时长无效（{ $message }）。
    .hint = 例如使用 30m、90s、2h 或 7d

command-invalid-line-range = 这不是从 1 开始的行号范围。
    .hint = 请写成 --lines 10-20、--lines 10- 或 --lines 10

command-no-json-terminal = 终端界面没有 JSON 输出。
    .hint = 请去掉 --json，或使用 `polis watch --json`

command-no-tab = 没有标签页“{ $tab }”。
    .hint = 请从 now、tasks、boards、agents、workspaces、events 中选择

command-only-person-signs-in = 只有用户可以用链接登录。
    .hint = 请去掉 --as 和 POLIS_AGENT，或在页面上用令牌登录

command-timeout-not-a-number = 超时不是数字。
    .hint = 请以毫秒给出 --timeout-ms，如 5000，或省略

command-command-not-utf8 = 命令不是 UTF-8。
    .hint = 请写成工作空间中的脚本再运行

command-demo-timeout = 团队没有在一分钟内完成。
    .hint = 请再运行一次

command-demo-not-writable = 演示的目录无法在此创建。
    .hint = 请切换到你有权写入的目录

command-demo-unconfined = 这台机器无法限制命令，团队将无法测试其程序；演示没有启动。
    .hint = `polis doctor` 会显示缺少什么；`polis demo board` 不需要它

command-too-many-demos = 这里已有数千个演示。
    .hint = 请删除目录 { $demo_dir }-*

command-run-stopped = 运行 { $run } 已停止。
    .hint = 用 `polis run "需求"` 启动另一次运行；`polis society ps` 列出进行中的运行

command-requirement-empty = 需求为空。
    .hint = 请描述要做什么：polis run "一个命令行计算器"

command-requirement-with-resume = 要恢复的运行已有需求。
    .hint = 用 `polis society send root 文字` 给它写消息，或去掉 --resume 启动另一次运行

command-requirement-missing = 缺少需求。
    .hint = `polis run "需求"` 启动运行；`polis run --resume` 恢复最近的一次

command-detach-with-resume = --detach 用于启动新的运行，不能与 --resume 同时使用。
    .hint = 请启动 `polis serve`；它会驱动存储中的所有运行

command-no-pending-call = 没有调用需要审批。
    .hint = 见 `polis society approvals --all`

command-several-pending-calls = 有多个调用需要审批。
    .hint = 请用编号指明一个：`polis society approvals` 会列出它们

command-invalid-money = 货币预算不是有效的金额。
    .hint = 例如使用 2.50

command-no-run-yet = 还没有运行。
    .hint = 用 `polis run "需求"` 启动，或观看 `polis demo`

command-text-not-sendable = 文本无法发送。
    .hint = 请发送纯文本

command-several-active-runs = 有多次运行正在进行。
    .hint = 请指明要停止的运行：`polis society ps` 会列出它们

command-metadata-not-json = 元数据无效：{ $error }。
    .hint = 请使用 JSON 对象，如 '{"{"}"priority":"high"{"}"}'

command-directory-name-invalid = 目录的名称为空，或不是 UTF-8。
    .hint = 请指定 UTF-8 名称的目录

command-output-not-written = 结果无法写到标准输出；操作本身已成功。
    .hint = 请先查看 `polis log`，再决定是否重复该命令

command-budget-without-price = 设置了货币预算，但没有端点设有价格，因此预算永远不会用完。
    .hint = 请在 .agent-workspace/polis.toml 的 [models.名称] 中设置 price_in 和 price_out，或使用 --budget-tokens

command-recording-not-writable = 录制文件无法写到那里。
    .hint = 请用 --record 指定其他文件

command-content-too-long = 内容超过 { $mebibytes } MiB。
    .hint = 请用工作空间中的命令创建（`polis exec`），或分部分写入

command-usage = 命令用法有误：{ $message }
    .hint = 请加上 --help 运行该命令

command-address-in-use = { $address } 已被另一个程序使用。
    .hint = 请用 `--listen { $free }` 选取任意空闲端口，或停止那个程序

command-address-in-use-by = { $address } 已被 { $program }（进程 { $pid }）使用。
    .hint = 请用 `--listen { $free }` 选取任意空闲端口，或停止那个程序

command-socket-in-use = { $path } 已被另一个程序使用。
    .hint = 请用 --listen 选择其他路径，或停止那个程序

command-socket-in-use-by = { $path } 已被 { $program }（进程 { $pid }）使用。
    .hint = 请用 --listen 选择其他路径，或停止那个程序

command-cannot-listen = 无法监听 { $target }：{ $problem ->
        [in-use] 该地址已被使用
        [denied] 没有权限
        [not-available] 本机没有接口具有此地址
        [exists] 那里有一个不是套接字的文件
        [not-found] 目录不存在
       *[other] 操作系统拒绝
    }。
    .hint = 请用 --listen 选择其他地址

command-recording-unreadable = 录制文件无法读取。
    .hint = 请指定由 `polis run --record 文件` 写入的文件：--model replay:文件

command-no-model = 没有配置模型。
    .hint = 请设置 OPENAI_API_KEY（其他提供方还需 OPENAI_BASE_URL），或在 .agent-workspace/polis.toml 中添加表 [models.名称]；`polis demo` 不需要模型

command-unusable-url = { $variable } 不是可用的网址。
    .hint = 请设为不含用户、密码和查询的 http:// 或 https:// 网址

command-key-variable-missing = 缺少端点 { $endpoint } 的密钥：变量 { $variable } 未设置。
    .hint = 请设置 { $variable }，或更改 models.{ $name }.key_env

command-key-file-unreadable = 缺少端点 { $endpoint } 的密钥：其文件无法读取，或为空。
    .hint = 请检查 models.{ $name }.key_file 所指的文件
