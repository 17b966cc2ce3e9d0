workspace-empty-command = 命令为空。
    .hint = 请给出 shell 命令，如 `ls -l`

workspace-command-has-nul = 命令含有 NUL 字符，任何 shell 都不接受。
    .hint = 请去掉它；`printf '\000'` 可在运行时输出

workspace-command-too-long = 命令长 { $bytes } 字节，最多接受 { $max_command_bytes } 字节。
    .hint = 请写成工作空间中的脚本再运行

workspace-command-blocked = 危险命令被禁止：{ $reason }。
    .hint = 请去掉它：命令以普通用户身份运行，限制在工作空间内，且没有设备

workspace-timeout-out-of-range = 超时 { $requested } 毫秒超出范围；接受 1 到 { $ceiling } 毫秒。
    .hint = 请取此范围内的超时，或省略以使用默认值

workspace-path-too-long = 路径超过 { $max_path_bytes } 字节。
    .hint = 请使用较短的名称或较少的目录层级

workspace-name-too-long = 路径中的某个名称超过 { $max_name_bytes } 字节。
    .hint = 请使用较短的名称

workspace-reserved-name = 名称 { $project_data_dir } 保留用于 polis 项目的数据。
    .hint = 请使用其他名称

workspace-unfinished-name = 形如 { $unfinished_prefix }0123456789abcdef 的名称保留用于未完成的写入。
    .hint = 请使用其他名称

workspace-path-is-empty = 路径为空。
    .hint = 请给出相对于工作空间的路径，如 src/main.rs

workspace-path-has-nul = 路径含有 NUL 字符。
    .hint = 请给出相对于工作空间的路径，如 src/main.rs

workspace-path-is-absolute = 路径是绝对路径；只接受相对于工作空间的路径。
    .hint = 请给出相对于工作空间的路径，如 src/main.rs

workspace-path-has-backslash = 路径含有反斜杠。
    .hint = 请给出相对于工作空间的路径，如 src/main.rs

workspace-path-leaves-workspace = 路径超出了工作空间。
    .hint = 请给出相对于工作空间的路径，如 src/main.rs

workspace-path-has-drive-letter = 路径以盘符开头。
    .hint = 请给出相对于工作空间的路径，如 src/main.rs

workspace-person-has-none = 用户没有工作空间。
    .cli = 用 `--of 智能体` 指定要使用其工作空间的智能体；`polis ws list` 会列出它们
    .tool = 请以拥有工作空间的智能体身份连接
    .screen = 请让运行 polis 的人为它最上层的上级绑定工作空间

workspace-not-in-registry = “{ $agent }”不是已登记的智能体，没有工作空间。
    .cli = 请以拥有工作空间的智能体身份操作；`polis ws list` 会列出它们
    .tool = 请以拥有工作空间的智能体身份操作
    .screen = 请让运行 polis 的人为它最上层的上级绑定工作空间

workspace-not-assigned = “{ $agent }”及其所有上级都没有工作空间。
    .cli = 请为它最上层的上级绑定：`polis ws bind 目录 --of 智能体`
    .tool = 请让运行 polis 的人为它最上层的上级绑定工作空间
    .screen = 请让运行 polis 的人为它最上层的上级绑定工作空间

workspace-owner-not-registered = “{ $agent }”未注册，因此没有工作空间。
    .cli = 用 `polis agent add { $agent } --role ROLE` 注册它，或用 `polis agent list` 核对拼写
    .tool = 请让人注册它，或用 `list_agents` 核对拼写
    .http = 请让人注册它，或用 `GET /v1/agents` 核对拼写
    .screen = 请让运行 polis 的人为它最上层的上级绑定工作空间

workspace-other-workspace = 没有权限：“{ $agent }”不在“{ $requested }”的工作空间中工作。
    .cli = 去掉 --of，在自己的工作空间中操作
    .tool = 请在自己的工作空间中操作
    .screen = 请找有权限的人处理

workspace-overlaps = 该目录{ $relation ->
        [same] 就是“{ $owner }”的工作空间
        [inside] 位于“{ $owner }”的工作空间内
       *[other] 包含“{ $owner }”的工作空间
    }。
    .cli = 请选择不与任何工作空间重叠的目录；`polis ws list` 会列出它们
    .tool = 请选择不与任何工作空间重叠的目录
    .screen = 请查看最新状态后再决定

workspace-not-a-team-head = “{ $agent }”不是 root 的直接下级：它在其最上层上级的工作空间中工作。
    .hint = 请改为绑定那个智能体的工作空间

workspace-not-a-team-head-below = “{ $agent }”不是 root 的直接下级：它在其最上层上级的工作空间中工作。
    .cli = 请改为绑定那个智能体的工作空间；`polis agent tree` 会显示它，位于“{ $supervisor }”之上
    .tool = 请改为绑定那个智能体的工作空间；`list_agents` 会显示它，位于“{ $supervisor }”之上
    .http = 请改为绑定那个智能体的工作空间；`GET /v1/agents` 会显示它，位于“{ $supervisor }”之上
    .screen = 请更正输入的内容

workspace-bound-elsewhere = “{ $agent }”的工作空间已绑定到另一个目录。
    .cli = 请加上 --force 重试以弃用当前目录；其中的文件会保留，可以手动移动
    .tool = 请让运行 polis 的人重新绑定
    .screen = 请查看最新状态后再决定

workspace-in-use = “{ $agent }”的工作空间已在使用。
    .cli = 请加上 --force 重试以弃用当前目录；其中的文件会保留，可以手动移动
    .tool = 请让运行 polis 的人重新绑定
    .screen = 请查看最新状态后再决定
