http-host-forbidden = Host 请求头不是此服务器的名称。
    .hint = 请使用 localhost 或它监听的地址，或把名称加入 [serve] hosts

http-origin-forbidden = 不允许来自此来源的请求。
    .hint = 请把来源加入 [serve] origins

http-token-rate-limited = 此令牌超过了速率限制。
    .hint = 请减少请求；服务器的管理者可以提高 [serve] rate 和 burst

http-address-rate-limited = 来自此地址、没有有效令牌的请求过多。
    .hint = 请发送带有有效令牌的 `Authorization: Bearer TOKEN`

http-host-missing = 请求没有 Host，或有多个。
    .hint = 请只发送一个 Host 请求头

http-too-many-requests = 服务器已达到并发请求数上限。
    .hint = 请稍候再重试

http-body-timeout = 请求体没有及时送达。
    .hint = 请不间断地发送请求体

http-body-malformed = 请求体不完整或格式错误。
    .hint = 请发送完整的请求体

http-body-too-large = 请求体超过 { $limit } 字节。
    .hint = 请发送较小的请求；服务器的管理者可以提高 [serve] max_body

http-body-not-json = 请求体不是未压缩的 JSON。
    .hint = 请发送 `Content-Type: application/json`，不带 Content-Encoding

http-shutting-down = 服务器正在关闭。
    .hint = 请使用另一台服务器，或等它重新启动

http-store-silent = 存储没有响应。
    .hint = 请稍后重试，并查看服务器日志

http-method-not-allowed = 此路径不支持该方法。
    .hint = 请使用 Allow 响应头中的方法；/v1/openapi.json 描述了所有路由

http-no-route = 此路径没有对应的路由。
    .hint = 见 /v1/openapi.json；白板名称或黑板路径请编码为一段，/ 写作 %2F

http-unknown-parameter = 这里没有参数 { $name }。
    .hint = 可用的参数：查询中：{ $query }；请求体中：{ $body }

http-unknown-query-parameter = 这里没有参数 { $name }。
    .hint = 可用的参数：查询中：{ $query }

http-unknown-body-parameter = 这里没有参数 { $name }。
    .hint = 可用的参数：请求体中：{ $body }

http-no-parameters = 这里没有参数 { $name }。
    .hint = 请去掉它；此路由没有参数

http-query-repeated = 查询中 { $name } 出现了多次。
    .hint = 请只发送一次

http-body-repeated = 请求体中 { $name } 出现了多次。
    .hint = 请只发送一次

http-body-not-an-object = 请求体不是 JSON 对象：{ $error }。
    .hint = 请以 UTF-8 发送一个 JSON 对象，以参数作为其字段

http-wrong-parameter-type = { $name } 不是{ $expected ->
        [boolean]  true 或 false
        [integer] 整数
       *[other] 数字
    }。
    .hint = 请在 /v1/openapi.json 中查看该参数的模式

http-etag-of-no-version = 没有版本对应 If-Match 中的 ETag。
    .hint = 请重新读取该资源，并使用该响应的 ETag

http-etag-of-no-file = 没有版本对应 If-Match 中的 ETag。
    .hint = 请重新读取该资源，并使用该响应的 ETag

http-invalid-condition = If-Match 或 If-None-Match 请求头格式错误、重复，或此路由不支持。
    .hint = 请在 /v1/openapi.json 列有它的路由上，以一个未改动的 ETag 发送 If-Match

http-invalid-header = 请求头 { $name } 重复，或不是 ASCII。
    .hint = 请以 ASCII 只发送一次

http-operation-timeout = 操作超时；不清楚它是否已执行。
    .hint = 请检查当前状态；带有 Idempotency-Key 的相同请求可以安全地重试

http-invalid-percent-encoding = 网址中的百分号编码不完整，或不是 UTF-8。
    .hint = 请把 UTF-8 文本的每个字节编码为 %XX
