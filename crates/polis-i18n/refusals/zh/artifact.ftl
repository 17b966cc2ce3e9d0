artifact-not-found = 没有产物 { $reference }。
    .hint = 请使用存储时返回的引用

artifact-invalid-type = 产物的类型为空、超过 100 字节或含有控制字符。
    .hint = 请给出简短的类型，如 "spec"

artifact-invalid-meta = 产物的元数据必须是 JSON 对象。
    .hint = 请传入 JSON 对象，或省略

artifact-too-large = 产物超过 8 MiB。
    .hint = 请把它写入工作空间的文件，改为存储其路径

artifact-too-deep = 产物嵌套过深，或含有不成对的代理项。
    .hint = 请存储嵌套较浅、Unicode 有效的值
