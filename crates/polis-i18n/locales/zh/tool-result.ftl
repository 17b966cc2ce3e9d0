### 面向模型的工具结果：各工具共用的续读、截断和忽略参数的说明。

tool-result-list-separator = ，
tool-result-and-more = { $names }，另有 { $count } 个
tool-result-two-notes = { $first }；{ $second }
tool-result-ignored-arguments = 已忽略未知参数：{ $names }
tool-result-next-page = 已显示 { $count } 项；查看更多请传 { $parameter }={ $next }
tool-result-next-offset = 在第 { $next } 字节处截断，共 { $size } 字节；读取其余部分请传 offset={ $next }
tool-result-rest = 已截断；读取其余部分：{ $call }
tool-result-bytes-omitted = 省略 { $count } 字节
tool-result-text-too-long = 已截断：显示 { $shown } 字节，共 { $size } 字节；每次请少取一些
tool-result-document-too-long = 共 { $size } 字节，过长，已截断；每次请少取一些，或只取一部分
tool-result-list-truncated = 列表已截断
tool-result-part-shown = 显示 { $count } 项，共 { $total } 项
