sandbox-too-weak = 本系统无法按要求限制该命令：{ $reason }。
    .cli = 用 `polis doctor` 查看缺少什么；polis.toml 的 `sandbox.weakest` 规定允许的最低级别
    .tool = 请询问运行 polis 的人沙箱缺少什么；polis.toml 的 `sandbox.weakest` 规定允许的最低级别
    .screen = 请询问运行 polis 的人沙箱缺少什么

sandbox-invalid-policy = { $problem ->
        [own-data] 沙箱配置授予的某个路径包含 polis 自己的数据，或在其内。
        [system-programs] polis 自己的数据位于系统程序的目录内，所有命令都能看到；请把项目放到别处。
       *[other] 沙箱配置授予的某个路径不是绝对路径，或不存在。
    }
    .hint = 请检查 polis.toml 中 [sandbox] 下的 `read` 和 `write`

sandbox-not-started = 命令未能启动：{ $reason }。
    .cli = 请运行 `polis doctor`，或重试
    .tool = 请重试，或告知运行 polis 的人
    .screen = 请重试；如仍失败，请查看服务器日志

sandbox-step-failed = { $step }失败：{ $error }
sandbox-step-unavailable = { $step }：{ $error }
sandbox-no-landlock = 内核没有 Landlock
sandbox-landlock-too-old = Landlock 版本过旧，没有命名空间时无法使用
sandbox-loopback-without-namespace = 私有的回环设备需要网络命名空间
sandbox-no-filter = 没有适用于此处理器架构的 seccomp 过滤器
sandbox-contains-project = 工作空间包含 polis 项目，仅靠 Landlock 无法将其隐藏
sandbox-other-owner = 工作空间须属于用户 { $user }（root 的命令以该用户的身份运行）
sandbox-parent-inaccessible = polis 数据的某个上级目录对用户 { $user } 不可访问（root 的命令以该用户的身份运行）
sandbox-command-has-nul = 命令含 NUL 字符
sandbox-no-control-groups = 没有控制组
sandbox-no-group-directory = 无法创建控制组
sandbox-group-not-created = 无法创建控制组：{ $error }

sandbox-step-session = 创建会话
sandbox-step-user = 切换用户
sandbox-step-hide = 隐藏监管进程
sandbox-step-copy = 克隆挂载树
sandbox-step-root = 创建新的根目录
sandbox-step-fixture = 在新的根目录中创建文件
sandbox-step-attributes = 设置挂载属性
sandbox-step-attach = 附加挂载树
sandbox-step-tmp = 挂载私有的 /tmp
sandbox-step-proc = 挂载 /proc
sandbox-step-pivot = 切换到新的根目录
sandbox-step-name = 设置主机名
sandbox-step-loopback = 启用回环设备
sandbox-step-directory = 进入工作空间
sandbox-step-privileges = 设置 no_new_privs
sandbox-step-capabilities = 放弃权能（capabilities）
sandbox-step-adoption = 成为 subreaper
sandbox-step-start = 启动命令
sandbox-step-descriptors = 设置文件描述符
sandbox-step-limits = 设置资源限制
sandbox-step-landlock = Landlock
sandbox-step-seccomp = seccomp
sandbox-step-execute = 执行 shell 程序
sandbox-step-watch = 监视命令
sandbox-step-namespaces = 创建命名空间
sandbox-step-mount = 挂载工作空间
sandbox-step-scratch-directory = 创建临时目录
sandbox-step-file-owner = 更改文件的所有者
sandbox-step-control-group = 控制组
