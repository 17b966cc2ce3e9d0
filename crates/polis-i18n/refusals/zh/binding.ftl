binding-recorded-path-not-canonical = 为工作空间记录的路径不是目录的规范路径。
    .cli = 请让用户重新绑定工作空间：`polis ws bind`
    .tool = 请让运行 polis 的人重新绑定工作空间
    .screen = 请更正输入的内容

binding-path-not-absolute = 目录的路径不是绝对路径。
    .hint = 请使用以 / 开头的绝对路径

binding-path-not-utf8 = 目录的路径不是 UTF-8 编码。
    .hint = 请使用其他名称的目录

binding-parent-after-missing = 目录的路径在不存在的目录之后含有 `..`。
    .hint = 请从路径中去掉 `..`

binding-system-directory = 系统目录或整个主目录不能作为工作空间。
    .hint = 请为工作创建单独的目录

binding-in-data-directory = 该目录是 polis 自己的数据目录，或在其内，或包含它。
    .hint = 请使用 polis 数据目录之外的目录

binding-overlaps-other-workspace = 该目录与本机另一个 polis 项目的工作空间重叠。
    .cli = 请选择所有 polis 项目之外的目录；加 --verbose 重试可查看原因
    .tool = 请选择所有 polis 项目之外的目录
    .screen = 请查看最新状态后再决定

binding-overlaps-other-project = 该目录包含另一个 polis 项目，或在其数据之内。
    .cli = 请选择所有 polis 项目之外的目录；加 --verbose 重试可查看原因
    .tool = 请选择所有 polis 项目之外的目录
    .screen = 请查看最新状态后再决定

binding-overlaps-registry = 该目录包含 polis 的本机登记，或在其内。
    .cli = 请选择所有 polis 项目之外的目录；加 --verbose 重试可查看原因
    .tool = 请选择所有 polis 项目之外的目录
    .screen = 请查看最新状态后再决定

binding-not-a-directory = 此路径不是目录。
    .hint = 请使用目录的路径，或要创建的目录的路径

binding-not-writable = 该目录无法创建或写入。
    .hint = 请检查该目录及其上级目录的所有者和权限

binding-component-not-a-directory = 路径的某一部分不是目录。
    .hint = 请使用其他路径

binding-cannot-open = 该目录无法创建或打开。
    .cli = 请检查路径；加 --verbose 重试可查看原因
    .tool = 请检查路径
    .screen = 请更正输入的内容
