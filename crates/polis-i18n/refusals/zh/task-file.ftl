### Problems of task files, in the report of an import and in its refusals.

task-file-fault = { $file }：{ $problem }

task-file-not-a-file = 不是文件
task-file-too-large = 大小为 { $bytes } 字节；最多接受 { $max_bytes } 字节
task-file-not-utf8 = 不是 UTF-8
task-file-unreadable = 无法读取：{ $error }
task-file-not-an-object = 不是 JSON 对象：{ $error }
task-file-nested-too-deeply = 嵌套 { $depth } 层；最多接受 { $max_depth } 层
task-file-unpaired-surrogate = 有字符串含未配对的代理项
task-file-contains-nul = 有文本含 NUL 字符
task-file-field-missing = 缺少 { $key }
task-file-field-not-a-text = { $key } 不是文本
task-file-unknown-status = 未知的状态 { $value }
task-file-id-not-a-number = id { $value } 不是十进制数
task-file-id-out-of-range = id { $id } 超出范围
task-file-version-out-of-range = 版本 { $version } 超出范围
task-file-already-exists = 任务 { $id } 已存在，且内容不同

task-file-id-from-file-name = 缺少 id：已取自文件名，为 { $id }
task-file-other-id-in-name = 文件名中的编号是 { $file_id }，但文件内的 id 是 { $id }；以后者为准
task-file-id-normalized = id { $value } 已规范为 "{ $id }"
task-file-number-used-twice = 编号 { $old } 用了两次；此任务现为 { $id }
task-file-status-added = 缺少 status：已设为 pending
task-file-texts-too-long = 标题或描述超出文本的长度或字符限制；已原样导入
task-file-key-twice = { $key } 出现两次；采用最后一个值
task-file-value-dropped = { $key } 的值 { $value } 无法使用；已丢弃
task-file-value-kept = { $key } 的值 { $value } 已保留，但无法使用
task-file-time-kept = { $key } 已保留，但不是 ISO 8601 时间
task-file-list-dropped = { $key } 的值 { $value } 不是列表；已丢弃
task-file-entry-twice = { $key } 两次列出 { $id }
task-file-entry-not-an-id = { $key } 列出了 { $value }，它不是任务 ID；已丢弃
task-file-entry-is-itself = { $key } 列出了 { $id }，即任务自身；已丢弃
task-file-entry-unknown = { $key } 列出了 { $id }，该任务不存在；已丢弃
task-file-entry-skipped = { $key } 列出了 { $id }，该任务已被跳过；已丢弃此引用
task-file-entry-added = { $key } 缺少 { $id }，而后者列出了此任务；已添加
task-file-entry-closes-cycle = blockedBy 列出了 { $id }，这会形成循环；已从两边丢弃
