install-agent-missing = 没有给出 MCP 服务器的智能体。
    .hint = 请用 --agent ID 指定智能体；`polis agent list` 会列出它们

install-path-not-utf8 = { $what }不是 UTF-8，无法写入配置。
    .hint = 请移到 UTF-8 的路径

install-no-home-directory = 没有可写入的主目录。
    .hint = 请设置 HOME，或用 --scope project 写入项目的配置

install-invalid-file = { $file }{ $line }：{ $reason }；未作任何更改。
    .hint = 请修正文件，使 { $client } 能读取它；或手动添加条目：--print 会显示它

install-other-server = { $file } 中有名为“{ $server_name }”、启动其他程序的服务器；未作任何更改。
    .hint = 请在 { $client } 中重命名或删除它，或以其他名称手动添加：--print 会显示它

install-not-a-client-agent = “{ $agent }”不是客户端可以使用的智能体。
    .hint = 请用 --agent 选择其他名称

install-no-project-scope = { $client } 没有项目配置。
    .hint = 请写入你自己的配置：--scope user

install-store-by-flag = 客户端不会知道 --store 或 POLIS_STORE 所指的存储。
    .hint = 请把它作为 `store` 写入 .agent-workspace/polis.toml，并去掉该选项和变量

install-no-project-for-client = 这台机器上没有可供客户端使用的项目目录。
    .hint = 请先在你的项目中运行 `polis init`

install-no-allowed-tools = { $client } 的服务器条目没有允许的工具这一设置。
    .hint = 请去掉 --allow-tools（{ $alternative }）

install-expanded-path = 项目或 polis 的路径含有“{ $mark }”，{ $client } 会将其展开。
    .hint = 请移到不含它的路径

install-keeps-changing = { $file } 不断被另一个程序改动。
    .hint = 请关闭写入它的程序，再次运行该命令

install-session-names-taken = 其他在线会话正以“{ $agent }”的身份运行，没有可用的名称给另一个会话。
    .hint = 请结束其中之一，或用 --agent 使用其他名称

install-file-unreadable = { $file } 无法读取。
    .hint = 请检查你是否有权读取；--verbose 会显示原因

install-agent-retired = 智能体“{ $agent }”已停用，其名称不能再用。
    .hint = 请用 --agent 选择其他名称

install-agent-registered-as = 智能体“{ $agent }”已注册为 { $role }。
    .hint = 请去掉 --role，或用 --agent 选择其他名称

install-file-is-no-file = { $file } 不是文件；未作任何更改。
    .hint = 请把它移开

install-file-too-large = { $file } 超过 { $mebibytes } MiB；未作任何更改。
    .hint = 请手动添加条目：--print 会显示它

install-file-not-text = { $file } 不是 UTF-8 文本；未作任何更改。
    .hint = 请转换为 UTF-8

install-file-read-only = { $file } 是只读的；未作任何更改。
    .hint = 请让它可写，或手动添加条目：--print 会显示它

install-file-symlink-loop = { $file } 是循环的符号链接；未作任何更改。
    .hint = 请删除它

install-too-many-backups = { $file } 的备份过多；未作任何更改。
    .hint = 请删除不需要的 .polis-backup 文件

install-disk-full = { $file } 没有更改：磁盘已满。
    .hint = 请解决后再次运行该命令，或手动添加条目：--print 会显示它

install-file-not-writable = { $file } 没有更改：文件或其目录不可写。
    .hint = 请解决后再次运行该命令，或手动添加条目：--print 会显示它

install-project-directory = 项目的目录
install-program-path = 程序 polis 的路径
install-line = {" "}第 { $line } 行
install-no-line = {""}

client-file-json-syntax = JSON 语法错误：{ $error }
client-file-unsupported-layout = 按它的写法，无法在不改动其余内容的情况下编辑
client-file-byte-order-mark = 不允许有字节顺序标记（BOM）
client-file-comment = 不允许有注释
client-file-trailing-comma = 不允许有尾随逗号
client-file-unclosed-comment = 有注释没有结束
client-file-not-an-object = 内容不是对象
client-file-key-not-an-object = “{ $key }”不是对象
client-file-key-not-a-table = “{ $key }”不是表
client-file-key-is-inline-table = “{ $key }”是内联表；请写成 [{ $key }.NAME]
client-file-second-document = 有第二个文档
client-file-not-a-mapping = 内容不是由名称组成的映射
client-file-key-not-a-mapping = “{ $key }”不是由名称组成的映射
