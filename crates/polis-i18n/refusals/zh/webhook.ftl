webhook-not-found = 没有 Webhook { $id }。
    .cli = 用 `polis webhook list` 列出 Webhook
    .tool = 用 `list_webhooks` 列出 Webhook
    .http = 用 `GET /v1/webhooks` 列出 Webhook
    .screen = 请刷新页面：它可能已不存在

webhook-only-person-manages = 没有权限：只有用户可以查看和更改 Webhook。
    .hint = 请找运行此 polis 的人

webhook-invalid-kind = { $kind } 不是事件类型。
    .cli = 请使用 `polis log` 显示的类型，如 task.completed；task. 表示该类全部
    .tool = 请使用 `read_log` 显示的类型，如 task.completed；task. 表示该类全部
    .http = 请使用 `GET /v1/log` 显示的类型，如 task.completed；task. 表示该类全部
    .screen = 请更正输入的内容

webhook-too-many = Webhook 数量已达上限。
    .cli = 用 `polis webhook remove ID` 删除一个
    .tool = 用 `remove_webhook` 删除一个
    .http = 用 `DELETE /v1/webhooks/{"{"}id{"}"}` 删除一个
    .screen = 请更正输入的内容

webhook-invalid-url = Webhook 的地址不是 http:// 或 https:// 网址。
    .hint = 请给出如 https://example.org/polis 的网址

## 投递的问题

delivery-invalid-url = Webhook 的网址无效。
delivery-answered = 接收方应答 { $status }。
delivery-redirected = 接收方应答 { $status }（不跟随重定向）。
delivery-no-connection = 无法连接：{ $cause }。
delivery-tls-handshake-failed = TLS 握手失败：{ $detail }。
delivery-response-timeout = { $seconds } 秒内没有响应。
delivery-invalid-response = 没有响应：应答不是有效的 HTTP。
delivery-connection-closed = 没有响应：连接已关闭。

connection-refused = 连接被拒绝
connection-reset = 连接被重置
connection-host-unreachable = 主机不可达
connection-network-unreachable = 网络不可达
connection-timed-out = 超时
connection-timeout = 连接超时
connection-proxy-unreachable = 无法连接代理
connection-tunnel-refused = 代理拒绝了隧道
connection-other = 其他错误（{ $detail }）
