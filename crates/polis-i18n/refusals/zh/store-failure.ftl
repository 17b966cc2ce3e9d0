store-failure-board-log-damaged = 白板 { $board } 的日志已损坏。
    .cli = 请从备份恢复存储；`polis doctor` 会检查它
    .tool = 请告知运行 polis 的人从备份恢复存储
    .screen = 请重试；如仍失败，请查看服务器日志

store-failure-board-file-too-large = 白板的文件在 polis 之外被修改，有 { $bytes } 字节，最多接受 { $max_board_bytes } 字节。
    .hint = 请修正文件，或把它移走：缺失的文件会从存储重新创建

store-failure-board-file-not-utf8 = 白板 { $board } 的文件在 polis 之外被修改，不是 UTF-8 编码。
    .hint = 请修正文件，或把它移走：缺失的文件会从存储重新创建

store-failure-board-file-has-nul = 白板 { $board } 的文件在 polis 之外被修改，含有 NUL 字符。
    .hint = 请修正文件，或把它移走：缺失的文件会从存储重新创建

store-failure-board-file-grew = 白板 { $board } 的文件在 polis 之外被修改，过大。
    .hint = 请修正文件，或把它移走：缺失的文件会从存储重新创建

store-failure-no-write-ahead-log = 此文件系统不支持 SQLite 的预写日志。
    .hint = 请把目录放在本地文件系统上

store-failure-no-tables = 存储的数据库没有表：它被清空，或创建时被中断。
    .cli = 请从备份恢复 .agent-workspace/polis.db；`polis init` 会创建空的存储
    .tool = 请告知运行 polis 的人从备份恢复存储
    .screen = 请重试；如仍失败，请查看服务器日志

store-failure-database-locked = 另一个程序一直锁定数据库，直到超时。
    .hint = 请重试；如仍发生，请查明哪个程序占用数据库

store-failure-disk-full = 磁盘已满；未作任何更改。
    .hint = 请腾出空间后重试

store-failure-not-writable = 存储不可写；未作任何更改。
    .hint = 请检查 .agent-workspace 的所有者和权限

store-failure-cannot-open = 存储无法打开。
    .hint = 请确认 .agent-workspace/polis.db 存在且可读写

store-failure-database-damaged = 存储的数据库文件已损坏，或不是数据库。
    .cli = 请从备份恢复 .agent-workspace/polis.db；`polis doctor` 会检查它
    .tool = 请告知运行 polis 的人从备份恢复存储
    .screen = 请重试；如仍失败，请查看服务器日志

store-failure-input-output-failed = 读写存储失败。
    .cli = 请检查磁盘；`polis doctor` 会检查数据库
    .tool = 请告知运行 polis 的人检查磁盘
    .screen = 请重试；如仍失败，请查看服务器日志

store-failure-write-lock-held = 另一个进程一直持有存储的写锁，直到超时；未作任何更改。
    .hint = 请重试；可能正在进行大量导入

store-failure-directory-unavailable = 存储的目录无法打开。
    .hint = 请确认 .agent-workspace 存在且可写

store-failure-board-file-not-writable = 白板的文件不可写；未作任何更改。
    .hint = 请检查白板目录的所有者和权限

store-failure-board-file-unavailable = 白板的文件无法读写。
    .cli = 请检查磁盘；加 --verbose 重试可查看原因
    .tool = 请检查磁盘
    .screen = 请重试；如仍失败，请查看服务器日志

store-failure-board-file-is-no-file = 白板的文件或其目录的路径是链接、目录或设备，polis 不会跟随。
    .hint = 请删除它；文件随后会从存储重新创建

store-failure-board-file-locked = 另一个程序锁定了 { $name } 的文件。
    .hint = 请稍后重试；查明哪个程序打开了它

store-failure-row-damaged = 存储中的一行已损坏。
    .cli = 请从备份恢复 .agent-workspace/polis.db；`polis doctor` 会检查它
    .tool = 请告知运行 polis 的人从备份恢复存储
    .screen = 请重试；如仍失败，请查看服务器日志

store-failure-message-damaged = 消息 { $id } 的行已损坏。
    .hint = 请从备份恢复存储

store-failure-mailbox-damaged = 一条消息的行已损坏。
    .hint = 请从备份恢复存储

store-failure-task-damaged = 任务 #{ $id } 的行已损坏。
    .cli = 请从备份恢复存储；`polis task export` 可保存仍能读取的内容
    .tool = 请告知运行 polis 的人从备份恢复存储；仍能读取的任务可以导出
    .screen = 请重试；如仍失败，请查看服务器日志

store-failure-invalid-address = 存储的地址不是有效的 PostgreSQL 地址。
    .hint = 请写成 postgres://user:password@host:5432/database；sslmode 支持 disable 和 prefer

store-failure-tls-unsupported = 不支持以 TLS 连接 PostgreSQL。
    .hint = 请通过本地套接字、专用网络或隧道连接，不带 sslmode=require

store-failure-database-not-utf8 = PostgreSQL 数据库不使用 UTF-8。
    .hint = 请用 ENCODING 'UTF8' 创建它

store-failure-no-schema = PostgreSQL 角色没有存放其表的模式。
    .hint = 请创建其 search_path 所指的模式

store-failure-server-disk-full = PostgreSQL 服务器的磁盘已满；未作任何更改。
    .hint = 请在那里腾出空间后重试

store-failure-role-cannot-write = 存储不可写；未作任何更改。
    .hint = 请检查 PostgreSQL 角色的权限，并确认服务器不是备机

store-failure-transaction-holds-lock = 另一个事务一直锁定存储，直到超时；未作任何更改。
    .hint = 请重试；如仍发生，请在 pg_stat_activity 中查找未结束的事务

store-failure-server-data-damaged = PostgreSQL 服务器发现损坏的数据。
    .hint = 请从备份恢复数据库

store-failure-access-refused = PostgreSQL 服务器拒绝此角色访问数据库。
    .hint = 请检查存储地址中的用户、密码和数据库名

store-failure-too-many-connections = PostgreSQL 服务器不再接受更多连接。
    .hint = 请提高 max_connections，或减少进程数

store-failure-server-unreachable = 无法连接 PostgreSQL 服务器。
    .hint = 请确认它在运行且存储的地址正确；polis 会自动重新连接

store-failure-server-timeout = PostgreSQL 服务器没有及时响应。
    .hint = 请检查服务器负载和网络，然后重试

store-failure-connection-broke = 与 PostgreSQL 服务器的连接已断开。未作任何更改。
    .hint = 请重试；polis 会自动重新连接

store-failure-commit-unknown = 提交期间与 PostgreSQL 服务器的连接断开，不清楚更改是否已生效。
    .hint = 请先读取当前状态再重试

store-failure-postgres-row-damaged = 存储中的一行已损坏。
    .hint = 请从备份恢复数据库

store-failure-task-numbers-exhausted = 任务编号已用完。
    .hint = 请把任务导入编号较小的新存储

store-failure-schema-too-new = 存储的架构版本为 { $found }，此 polis 最高支持 { $supported }。未作任何更改。
    .hint = 请使用写入它的更高版本 polis
