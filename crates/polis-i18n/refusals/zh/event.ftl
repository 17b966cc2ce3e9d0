event-not-a-kind = { $kind } 不是事件类型。
    .cli = 请使用 `polis log` 显示的类型，如 task.completed；task. 表示全部任务事件
    .tool = 请使用 `read_log` 显示的类型，如 task.completed；task. 表示全部任务事件
    .http = 请使用 `GET /v1/log` 显示的类型，如 task.completed；task. 表示全部任务事件
    .screen = 请更正输入的内容

event-too-many-entries = 筛选列表最多有 { $limit } 项。
    .hint = 请减少项数，或用如 task. 的前缀表示整组

event-filter-too-long = 筛选参数最多 { $limit } 字节。
    .hint = 请减少项数，或用如 task. 的前缀表示整组

event-too-many-readers = 服务器已达到事件读取者数上限。
    .hint = 请稍后重试，或用 GET /v1/log 分页读取日志

event-not-yet-logged = 没有事件 { $since }：日志到 { $head } 为止。
    .hint = 请省略 Last-Event-ID 和 since 从现在开始，或用 0 读取全部

event-query-not-utf8 = 网址中的查询参数不是 UTF-8。
    .hint = 请先编码为 UTF-8，再进行百分号编码

event-not-a-position = { $name } 为 { $value }，不是日志中的位置。
    .hint = 请使用最后收到的事件的 seq，或用 0 读取全部

event-not-a-limit = limit 为 { $value }，不是事件的数量。
    .hint = 请使用不小于 1 的整数

event-unknown-parameter = { $name } 不是 /v1/events 的参数。
    .hint = 请使用 since、limit、kind、subject 或 actor
