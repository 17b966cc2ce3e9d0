board-access-denied = 没有权限：“{ $agent }”不能{ $access ->
        [read] 读取 { $board }
        [write] 写入 { $board }
       *[other] 向 { $board } 追加
    }。{ $reason }
    .cli = 用 `polis board can { $board } --as 智能体` 查看谁有权限
    .tool = 请找有权限的智能体或用户；`whiteboard_list` 列出你可读取的白板
    .http = 请找有权限的智能体或用户；`GET /v1/boards` 列出你可读取的白板
    .screen = 请找有权限的人处理

board-blackboard-access-denied = 没有权限：“{ $agent }”不能{ $access ->
        [read] 读取 { $board }
        [write] 写入 { $board }
       *[other] 向 { $board } 追加
    }。{ $reason }
    .hint = 请找产品经理；polis.toml 的 `[blackboard.writers]` 按路径授权给角色和智能体

board-invalid-path = 路径 { $path } 无效：{ $rule }。
    .hint = 请给出黑板下的文件，如 shared/context.md 或 tasks/123/status.md

board-locked = 白板 { $board } 由“{ $holder }”锁定，直到 { $until }。
    .hint = 请在此时间之后重试；锁定会到期

board-invalid-lease-time = 锁定时长必须在 1 毫秒到 1 小时之间。
    .cli = 请把 --ttl 设为如 5s 的时长，并在需要时续期
    .tool = 请把 ttlMs 设为如 5000 的时长，并在需要时续期
    .screen = 请更正输入的内容

board-unlock-without-token = 没有权限：只有用户可以不凭令牌结束锁定。
    .cli = 请给出 --token，或等锁定到期
    .tool = 请给出 token，或等锁定到期
    .screen = 请找有权限的人处理

board-lease-lost = 此令牌未持有白板 { $board } 的锁定，或已不再持有。
    .hint = 锁定已到期、已被释放或被接管；请重新锁定白板再写入

board-invalid-name = 白板名称无效：{ $text }。
    .hint = 白板有 `global`、`top`、`mid/ROLE` 和 `bottom/AGENT`，其中角色或智能体由字母、数字、“-”“_”和“.”组成

board-has-nul = 白板不能含有 NUL 字符。
    .hint = 请去掉它们；白板是 Markdown 文本

board-too-large = 白板将达到 { $bytes } 字节，最多接受 { $max_board_bytes } 字节（10 MB）。未作任何更改。
    .hint = 请把较早的内容移到其他白板或文件，并在此引用

board-version-required = 白板 { $board } 已有内容，由“{ $author }”于 { $at } 最后修改；整体替换需要你读取的版本。
    .cli = 请读取白板并用 --expect V 给出其版本，或用 --force 无条件替换
    .tool = 用 `whiteboard_read` 读取，并把其版本作为 expectedVersion 传入；追加用 `whiteboard_append`，修改一部分用 `whiteboard_section`
    .http = 用 `GET /v1/boards/{"{"}board{"}"}` 读取，并把其版本作为 expectedVersion 传入；追加用 `POST /v1/boards/{"{"}board{"}"}/append`，修改一部分用 `POST /v1/boards/{"{"}board{"}"}/sections`
    .screen = 请重新加载，再次修改并保存

board-entry-heading = 条目含有标题 { $title }，会另起章节；你可以向此白板追加，但不能改写它。
    .hint = 条目中请使用 4 级（####）或更深的标题

board-version-conflict = 白板 { $board } 版本冲突：预期 { $expected }，当前 { $current }（由“{ $author }”于 { $at } 修改）。
    .cli = 请重新读取白板，在其上重做修改，并以其版本写入；或加上 --merge
    .tool = 请用 `whiteboard_read` 重新读取白板，在其上重做修改，并以其版本作为 expectedVersion 写入；或传入 merge=true
    .http = 请用 `GET /v1/boards/{"{"}board{"}"}` 重新读取白板，在其上重做修改，并以其版本作为 expectedVersion 写入；或传入 merge=true
    .screen = 请重新加载，再次修改并保存

board-version-conflict-unwritten = 白板 { $board } 版本冲突：预期 { $expected }，当前 { $current }（尚无内容）。
    .cli = 请重新读取白板，在其上重做修改，并以其版本写入；或加上 --merge
    .tool = 请用 `whiteboard_read` 重新读取白板，在其上重做修改，并以其版本作为 expectedVersion 写入；或传入 merge=true
    .http = 请用 `GET /v1/boards/{"{"}board{"}"}` 重新读取白板，在其上重做修改，并以其版本作为 expectedVersion 写入；或传入 merge=true
    .screen = 请重新加载，再次修改并保存

board-merge-conflict = 白板 { $board } 合并冲突：预期 { $expected }，当前 { $current }（由“{ $author }”于 { $at } 修改）。
    .hint = 请处理冲突标记，并以当前版本写入结果；未写入任何内容

board-section-changed = 白板 { $board } 版本冲突：章节在你读取后已改变（其版本现为 { $digest }）。
    .cli = 请用 `--section` 重新读取该章节，在其上重做修改后重试
    .tool = 请用 `whiteboard_read` 和 section 重新读取该章节，在其上重做修改，并以其 sectionVersion 作为 expectedSection 重试
    .http = 请用 `GET /v1/boards/{"{"}board{"}"}` 和 section 重新读取该章节，在其上重做修改，并以其 sectionVersion 作为 expectedSection 重试
    .screen = 请重新加载，再次修改并保存

board-section-removed = 白板 { $board } 版本冲突：章节在你读取后已改变（该章节已不存在）。
    .cli = 请用 `--section` 重新读取该章节，在其上重做修改后重试
    .tool = 请用 `whiteboard_read` 和 section 重新读取该章节，在其上重做修改，并以其 sectionVersion 作为 expectedSection 重试
    .http = 请用 `GET /v1/boards/{"{"}board{"}"}` 和 section 重新读取该章节，在其上重做修改，并以其 sectionVersion 作为 expectedSection 重试
    .screen = 请重新加载，再次修改并保存

blackboard-rule-empty = 路径为空
blackboard-rule-absolute = 必须是相对于黑板的路径
blackboard-rule-too-long = 超过 240 字节
blackboard-rule-leaves = 不能超出黑板（不得含 `.` 或 `..`）
blackboard-rule-empty-part = 含有空的部分
blackboard-rule-too-deep = 嵌套超过 8 层，或某一部分超过 100 字节
blackboard-rule-extension = 扩展名必须是 .md
blackboard-rule-no-stem = 文件在 .md 之前没有名称
blackboard-rule-tasks-file = `tasks` 是任务的目录
blackboard-rule-task-file = 任务的文件是 tasks/{"{"}id{"}"}/NAME.md
blackboard-rule-task-id = 任务编号是数字或含有数字，如 123 或 task-20260225-001
blackboard-rule-upper-case = 必须是小写
blackboard-rule-characters = 只接受小写字母、数字和连字符
blackboard-rule-hyphen = 各部分不能以连字符开头

## Why an agent may or may not access a board

access-person = 用户拥有所有权限。
access-not-registered = “{ $agent }”不是已注册的智能体，只能读取 `global` 和 `top`。
access-global-readable = 所有智能体都可读取全局白板。
access-top-readable = 所有智能体都可读取顶层白板。
access-upper-layers-append = 顶层和中层可以向全局白板追加。
access-only-upper-layers-append = 只有顶层和中层可以向全局白板追加。
access-top-layer-writes = 顶层可以写入此白板。
access-only-top-layer-writes = 只有顶层可以写入此白板。
access-own-role = 这是该智能体所属角色的白板。
access-only-role-writes = 只有角色为“{ $role }”的中层智能体可以写入此白板。
access-own-board = 这是该智能体自己的白板。
access-only-owner-writes = 只有智能体“{ $owner }”可以写入此白板。
access-top-layer-reads-mid = 顶层可读取所有中层白板。
access-mid-layer-reads-mid = 中层可读取所有中层白板。
access-superiors-board = 这是该智能体某个上级的白板。
access-no-superior-with-role = 该智能体的各级上级中，没有角色为“{ $role }”的中层智能体。
access-top-layer-reads-bottom = 顶层可读取所有底层白板。
access-mid-reads-all-bottom = 已启用 `whiteboards.mid_reads_all_bottom`。
access-subordinate = “{ $owner }”是该智能体的下级。
access-not-a-subordinate = “{ $owner }”不是该智能体的下级，而中层只能读取其下级的白板。
access-bottom-layer-reads-own = 底层智能体只能读取自己的底层白板。
access-not-a-whiteboard = 这不是白板。
access-blackboard-readable = 所有智能体都可读取黑板。
access-path-granted = `[blackboard.writers]` 将 `{ $pattern }` 授权给“{ $writer }”。
access-path-not-granted = `[blackboard.writers]` 既未将此路径授权给角色“{ $role }”，也未授权给智能体“{ $agent }”。
