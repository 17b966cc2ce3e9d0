tool-not-found = 没有工具 { $name }。
    .hint = 请列出工具，并使用其中的名称

tool-invalid-parameters = 参数无效：{ $location }{ $problem }。
    .hint = 请核对工具的输入模式
    .http = 请核对 `GET /v1/openapi.json` 中该请求的模式

tool-unknown-group = 没有工具组 { $name }。
    .hint = 请使用以下之一或多个：{ $groups }

tool-unknown-name = 没有工具 { $name }。
    .hint = 请列出工具，并使用其中的名称；`all` 表示全部工具
    .cli = `polis society team show` 显示各角色使用的名称；`all` 表示全部工具

tool-misspelt-parameter = 没有参数 { $name }；是否指 { $parameter }？
    .hint = 请用 { $suggestion } 重新调用，或省略该参数

## 参数的问题

tool-missing-field = 缺少字段 { $name }
tool-unknown-field = 未知字段 { $name }，应为{ $expected }
tool-unknown-variant = 未知的值 { $name }，应为{ $expected }
tool-invalid-type = 类型无效：{ $found }，应为{ $expected }
tool-invalid-value = 值无效：{ $found }，应为{ $expected }
tool-brief-expected = 应为任务说明书：含 objective、constraints、inputs、outputs、completionCriteria 的对象
tool-recipient-expected = 应为智能体 id、`user`、`role:ROLE`，或它们的列表
tool-texts-expected = 应为文本或文本列表
tool-time-expected = 不是 ISO 8601 格式的时间
tool-one-of = 以下之一：{ $names }
tool-either = { " " }{ $first } 或 { $second }
tool-found-kind = { $kind ->
        [null] null
        [sequence] 数组
       *[other] 对象
    }
tool-found-value = { $kind ->
        [boolean] 布尔值
        [integer] 整数
        [number] 数字
       *[other] 字符串
    } { $value }
tool-expected-kind = { $kind ->
        [string] 字符串
        [boolean] 布尔值
        [sequence] 数组
        [map] 对象
        [name] 字符串或对象
        [single-key-map] 只有一个键的对象
        [json-string] {" "}JSON 字符串
        [json-object] {" "}JSON 对象
       *[other] 对象
    }
tool-expected-integer = 整数（{ $name }）
tool-other-problem = { $text }

## JSON 语法错误

json-at = { $problem }（第 { $line } 行第 { $column } 列）
json-list-unclosed = 数组没有结束
json-object-unclosed = 对象没有结束
json-string-unclosed = 字符串没有结束
json-value-missing = 文本在值之前结束
json-colon-expected = 应为 `:`
json-list-end-expected = 应为 `,` 或 `]`
json-object-end-expected = 应为 `,` 或 `{"}"}`
json-word-expected = 应为 `true`、`false` 或 `null`
json-value-expected = 应为一个值
json-quote-expected = 应为 `"`
json-invalid-escape = 转义序列无效
json-invalid-number = 数字无效
json-number-out-of-range = 数字超出范围
json-invalid-code-point = Unicode 码点无效
json-control-character = 字符串含有控制字符（\u0000-\u001F）
json-key-not-a-string = 键应为字符串
json-lone-surrogate = 十六进制转义中有单独的前导代理项
json-hex-escape-unclosed = 十六进制转义没有结束
json-trailing-comma = 末尾多出逗号
json-trailing-characters = 值之后还有其他字符
json-too-deep = 嵌套过深
