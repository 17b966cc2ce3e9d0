### 模型请求：失败原因，供成员的上级和用户阅读。

model-cancelled = 模型请求已取消。
model-returned-status = 模型端点 { $name } 返回状态 { $status }。
model-returned-message = 模型端点 { $name } 返回状态 { $status }：{ $message }
model-unusable = 模型端点 { $name } 无法使用：{ $problem }。
model-no-response = 模型端点 { $name } 没有响应：{ $problem }。
model-response-broke-off = 模型端点 { $name } 的响应中途断开。
model-no-choice = 模型端点 { $name } 的响应中没有 choice。
model-announced-calls = 模型端点 { $name } 声明了工具调用，但没有发送。
model-invalid-response = 模型端点 { $name } 发送了无效的响应。
model-fields-refused = 模型端点 { $name } 拒绝该请求，去掉可选字段后仍拒绝。
model-retry-later = { $reason }（要求 { $seconds } 秒后重试）
model-lasted = { $reason }（已持续 { $seconds } 秒）
model-tried = { $reason }（{ $seconds } 秒内尝试了 { $attempts } 次）
model-unknown-selector = 没有名称或标签为 { $selector } 的模型端点（角色 { $role } 所要求的）；改用默认端点 { $endpoint }。

## 连接问题：句子的后半部分

model-unreachable = 无法连接
model-proxy-unreachable = 无法连接其代理
model-tunnel-refused = 其代理拒绝建立隧道
model-connect-timeout = 连接超时
model-untrusted-certificate = 其证书不受信任
model-tls-handshake = TLS 握手失败
model-first-byte-timeout = 未能及时开始响应
model-chunk-timeout = 响应停滞
model-not-http = 响应不是有效的 HTTP
model-connection-closed = 连接中断

## 录制

model-waiting-text = （等待更多消息）
model-end-of-recording-text = （录制到此结束）
model-not-recorded = 录制中没有 { $agent } 的响应。
model-recording-ended = 录制中有 { $agent } 的 { $count } 个响应，但请求了第 { $requested } 个。
model-not-replayable = 录制中的一个响应无法回放。
