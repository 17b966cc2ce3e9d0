model-invalid-api-key = 模型端点的 API 密钥含有无效字符。
    .hint = 请检查含有它的环境变量或文件

model-invalid-base-url = 模型端点 { $name } 的 base URL 无效（{ $detail }）。
    .hint = 请把 base_url 设为 /chat/completions 之前的网址，如 https://api.example.com/v1

model-invalid-header = 模型端点 { $name } 的一个请求头无效。
    .hint = 请求头的名称由字母和连字符组成，值写在一行内

model-no-default-endpoint = 默认的模型端点 { $name } 没有配置。
    .hint = 请在配置中添加带有 base_url 和 model 的端点

model-no-endpoint = 没有配置模型端点。
    .hint = 请在配置中添加带有 base_url 和 model 的端点

model-invalid-recording = 录制文件的第 { $number } 行{ $problem ->
        [header] 不是录制文件的首行
        [response] 不是录制的响应
       *[other] 缺失
    }。
    .cli = 用 `polis run --record 文件` 创建录制文件
    .tool = 请向运行 polis 的人索取录制文件
    .screen = 请更正输入的内容

model-invalid-trace-header = 追踪收集器的一个请求头无效。
    .hint = 请写成 name=value，以逗号分隔

model-invalid-trace-url = 追踪收集器的网址无效（{ $detail }）。
    .hint = 请设为如 http://localhost:4318 的网址
