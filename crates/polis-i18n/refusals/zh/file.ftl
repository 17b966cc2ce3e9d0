file-hash-mismatch = { $path } 在你读取之后已被改动；未作任何更改。
    .hint = 请重新读取文件，在其当前内容上重做修改

file-invalid-hash = 预期的哈希不是 64 位十六进制的 SHA-256。
    .hint = 请使用读取文件时返回的哈希，或省略

file-directory-not-empty = 目录 { $path } 不为空；未作任何更改。
    .cli = 请用 --recursive 删除它及其全部内容
    .tool = 请传入 recursive=true 删除它及其全部内容
    .screen = 请查看最新状态后再决定

file-partly-deleted = 目录 { $path } 未能完全删除，其中部分内容可能已不存在。
    .hint = { $next }

file-text-not-unique = 要替换的文本在 { $path } 中出现 { $count } 次；未作任何更改。
    .cli = 请包含更多上下文，或使用 --all
    .tool = 请包含更多上下文，或传入 replaceAll=true
    .screen = 请查看最新状态后再决定

file-written-concurrently = 另一个程序正在写入 { $path }；未作任何更改。
    .hint = 请在它写完后重试

file-too-large-to-edit = { $path } 超过 { $limit } 字节，即可编辑的最大大小；未作任何更改。
    .hint = 请用命令编辑，如 sed

file-edit-too-large = { $path } 将超过 { $limit } 字节，即可编辑的最大大小；未作任何更改。
    .hint = 请用命令编辑，如 sed

file-text-not-found = { $path } 中没有要替换的文本；未作任何更改。
    .hint = 请读取文件，并原样给出其中的文本，包括空白

file-text-not-found-cr-lf = { $path } 中没有要替换的文本；未作任何更改。
    .hint = 此文件的行以 \r\n 结尾；请使用相同的行尾

file-empty-old-text = 要替换的文本为空。
    .hint = 请原样给出文件中的文本；要创建文件，请写入而不是编辑

file-link-loop = { $named } 处的符号链接形成循环，或不可跟随。
    .hint = 请删除该链接，或使用其目标的路径

file-access-denied = 没有权限访问 { $named }；未作任何更改。
    .hint = 请检查文件及其目录的所有者和权限

file-read-only-file-system = { $named } 位于只读文件系统；未作任何更改。
    .hint = 请写到别处，或让人以读写方式挂载该文件系统

file-path-too-long = 路径或其中的名称对此文件系统来说过长。
    .hint = 请使用较短的名称或较少的目录层级

file-disk-full = 磁盘已满：{ $named } 未写入；未作任何更改。
    .hint = 请腾出空间后重试

file-disk-quota-exhausted = 磁盘配额已用完：{ $named } 未写入。
    .hint = 请删除不需要的内容，或让人提高配额

file-maximum-file-size = { $named } 将超过最大文件大小；未作任何更改。
    .hint = 请减少写入的内容，或让人提高上限

file-too-many-open-for-reading = 打开的文件过多。
    .hint = 请重试；如仍发生，请让人提高打开文件数的上限

file-too-many-open-for-writing = 打开的文件过多。
    .hint = 请重试；如仍发生，请让人提高打开文件数的上限

file-not-read = { $path } 无法读取。
    .hint = 请重试；如仍发生，请检查磁盘

file-not-written = { $path } 无法写入。
    .hint = 请重试；如仍发生，请检查磁盘

file-not-found = 文件 { $path } 不存在。
    .hint = 请列出上级目录以核对名称

file-link-leaves-workspace = { $path } 中的符号链接指向工作空间之外。
    .hint = 请使用工作空间内的路径；链接必须是相对的

file-link-to-reserved-name = { $path } 中的符号链接指向 { $project_data_dir }，它保留用于 polis 项目的数据。
    .hint = 请使用其他路径；如无其他用途，请删除该链接

file-workspace-replaced = 工作空间的目录在绑定之后被另一个目录或链接替换；未作任何更改。
    .cli = 请检查该目录，并让用户重新绑定工作空间：`polis ws bind`
    .tool = 请检查该目录，并请运行 polis 的人重新绑定工作空间
    .screen = 请更正输入的内容

file-is-a-directory = { $path } 是目录。
    .hint = 请指定其中的文件，或列出该目录

file-not-a-directory = { $path } 不是目录，或路径的某一部分不是目录。
    .hint = 请列出上级目录以找出该部分

file-not-a-file = { $path } 既不是文件也不是目录，而是管道、套接字、设备或链接。
    .hint = 请使用其他路径

file-already-exists = 文件 { $path } 已存在；未作任何更改。
    .hint = 请使用其他名称，或覆盖该文件

file-locked = { $path } 被另一个进程锁定；未作任何更改。
    .hint = 请重试；如仍发生，则工作空间中有命令锁定着该文件

file-workspace-gone = 工作空间的目录已不存在。
    .hint = 请让人恢复它，或把工作空间绑定到另一个目录

file-workspace-itself = 工作空间本身不能删除、移动或替换。
    .hint = 请指定其中的文件或目录

file-target-not-empty = 目录 { $path } 不为空；未作任何更改。
    .hint = 请先删除它，或使用其他名称

file-other-file-system = 源和目标位于不同的文件系统；未作任何更改。
    .hint = 请复制文件，再删除旧文件

file-moved-into-itself = 目录 { $path } 不能移动到它自身之内。
    .hint = 请选择它之外的目标

file-not-text = { $path } 不是 UTF-8 文本。
    .cli = 请使用 --base64
    .tool = 请传入 encoding=base64
    .screen = 请更正输入的内容

file-too-large-to-read = { $path } 有 { $size } 字节；一次最多读取 { $limit } 字节。
    .cli = 请用 --lines A-B 或 --max-bytes N 读取一部分
    .tool = 请传入 startLine 和 endLine，或 maxBytes
    .screen = 请更正输入的内容

file-invalid-lines = 行从 1 开始计数，且末行不能在首行之前。
    .cli = 例如使用 --lines 1-200
    .tool = 例如传入 startLine=1 和 endLine=200
    .screen = 请更正输入的内容

file-invalid-match-limit = 上限 { $limit } 无效：须为 1 到 { $maximum }。
    .hint = 请取此范围内的上限，或省略

file-globs-too-long = 通配模式合计超过 { $limit } 字节。
    .hint = 请使用 .gitignore 式的通配模式，如 src/**/*.rs

file-invalid-glob = 通配模式无效：{ $error }。
    .hint = 请使用 .gitignore 式的通配模式，如 src/**/*.rs

file-empty-pattern = 搜索模式为空。
    .cli = 请使用在一行内匹配的正则表达式；纯文本请用 --fixed
    .tool = 请使用在一行内匹配的正则表达式；纯文本请传入 fixed=true
    .screen = 请更正输入的内容

file-invalid-pattern = 搜索模式无效：{ $error }。
    .cli = 请使用在一行内匹配的正则表达式；纯文本请用 --fixed
    .tool = 请使用在一行内匹配的正则表达式；纯文本请传入 fixed=true
    .screen = 请更正输入的内容

file-hash-with-create = 预期的哈希不能与新建文件同时使用。
    .cli = 请只用 --expect-hash 或 --create-only 之一
    .tool = 请只传入 expectedHash 或 createOnly 之一
    .screen = 请更正输入的内容

file-not-base64 = 内容不是 base64。
    .hint = 请以带填充的 base64 编码字节，或省略 encoding

file-quota-uncountable = 工作空间有配额，但其目录过多或过深，无法统计。
    .hint = 请删除不需要的目录

file-quota-exceeded = 工作空间最多可存 { $limit } 字节；其他文件占用 { $used } 字节，再写入 { $new } 字节放不下。
    .hint = 请删除不需要的内容，或让人提高配额
