tool-not-found = 没有工具 { $name }。
    .hint = 请列出工具，并使用其中的名称

tool-invalid-parameters = 参数无效：{ $location }{ $problem }。
    .hint = 请核对工具的输入模式

tool-unknown-group = 没有工具组 { $name }。
    .hint = 请使用以下之一或多个：{ $groups }

tool-unknown-name = 没有工具 { $name }。
    .hint = 名称见 docs/reference/tools.md；`all` 表示全部工具

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
       *[other] 对象
    }
tool-expected-integer = 整数（{ $name }）
tool-other-problem = { $text }
