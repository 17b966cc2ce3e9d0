mcp-too-many-concurrent = 你已有 { $count } 个并发的{ $what ->
        [tool-calls] 工具调用
        [commands] 命令
       *[other] 订阅流
    }。
    .hint = 请等其中之一结束

mcp-groups-not-utf8 = 网址中的工具组不是 UTF-8。
    .hint = 例如用 ?tools=tasks,boards 选择工具组

mcp-arguments-not-an-object = 工具的参数不是 JSON 对象。
    .hint = 请传入符合工具输入模式的对象作为参数

mcp-other-session = 此会话属于另一个调用方。
    .hint = 请用 initialize 开始自己的会话
    .screen = 请输入有效的令牌，或用 `polis open` 获取新的登录链接

mcp-stream-not-prepared = 订阅流没有准备好。
    .hint = 请重新发送请求

mcp-no-prompt = 没有提示词 { $name }。
    .hint = 请列出提示词，并使用其中的名称

mcp-invalid-argument = 参数 { $argument } { $problem ->
        [not-a-string] 必须是字符串
        [too-long] 最多 4,000 个字符
       *[other] 必须给出
    }。
    .hint = 请在 prompts/list 中查看该提示词的参数

mcp-no-resource = { $uri } 处没有资源。
    .hint = 请使用 polis://tasks、polis://task/ID、polis://board/NAME、polis://blackboard/PATH 或 polis://file/PATH

mcp-invalid-cursor = { $cursor } 不是有效的游标。
    .hint = 请不带游标重新开始，然后传入每个响应的 nextCursor
    .screen = 请更正输入的内容

mcp-binary-too-large = 文件有 { $size } 字节，且不是文本；二进制资源最多 { $max_binary_bytes } 字节。
    .hint = 请用 run_command 读取一部分，或用 read_file 和 encoding=base64 读取
    .screen = 请更正输入的内容

mcp-too-many-subscriptions = 你已订阅 { $max_subscriptions } 个资源。
    .hint = 请先退订其中一些

mcp-files-not-watched = 工作空间的文件没有变更通知。
    .hint = 请订阅任务和白板；需要文件时再读取

mcp-cannot-read-board = 没有权限：“{ $agent }”不能读取 { $board }。
    .hint = 请列出资源，查看你可读取哪些
