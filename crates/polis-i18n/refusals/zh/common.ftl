tool-own-hint = 请按工具的输入模式更正参数

value-not-a-string = 应为 JSON 字符串，而不是{ $found }。
    .hint = { $next }

value-found-literal = {" "}{ $text }
value-found-list = 数组
value-found-object = 对象
