### What the commands about agents, their tokens and messages, webhooks, statistics and the log print.

cli-agent-registered = 智能体 { $id } 已注册：角色 { $role }，层级 { $layer }。
cli-agent-retired = 智能体 { $id } 已停用。
cli-agent-none = 还没有智能体。注册智能体：polis agent add backend-1 --role backend-leader
cli-agent-column-layer = 层级
cli-agent-column-supervisor = 上级
cli-agent-column-name = 名称
cli-agent-tree-entry = { $id }（{ $details }）

## Tokens

cli-agent-token-issued = { $agent } 的令牌（权限范围：{ $scopes }）。请立即复制，之后不再显示。
cli-agent-token-usage = 使用时发送 `Authorization: Bearer 令牌`；用 `polis agent token revoke { $id }` 吊销。
cli-agent-tokens-revoked = 已吊销：{ $ids }。
cli-agent-token-none = 还没有令牌。签发令牌：polis agent token issue 智能体
cli-agent-token-column-scope = 权限范围
cli-agent-token-column-issued = 签发时间
cli-agent-token-column-expires = 到期时间
cli-agent-token-active = 有效
cli-agent-token-expired = 已到期
cli-agent-token-revoked = 已吊销
cli-agent-token-of-browser = { $status }（浏览器）

## Messages

cli-agent-message-recipient = { $recipient }（消息 { $id }）
cli-agent-message-sent = 已发送给 { $recipients }。
cli-agent-message-none = { $agent } 没有新消息。
cli-agent-message-more = 还有更多消息，请再次查看。
cli-agent-message-heading = { $id }，来自 { $sender }，{ $time }
cli-agent-message-answer-heading = { $id }，来自 { $sender }，{ $time }，回复 { $answered }

## Webhooks

cli-agent-webhook-secret = Webhook { $id } 的密钥，用于为其事件签名。请立即复制，之后不再显示。
cli-agent-webhook-removed = Webhook { $id } 已移除。
cli-agent-webhook-none = 还没有 Webhook。添加 Webhook：polis webhook add https://...
cli-agent-webhook-column-kinds = 事件类型
cli-agent-webhook-column-delivered = 已投递至（序号）
cli-agent-webhook-column-failures = 失败次数
cli-agent-webhook-column-last-error = 最近的错误
cli-agent-webhook-all-kinds = 全部

## Statistics and the log

cli-agent-stats-tasks = 任务：待处理 { $pending }，进行中 { $in-progress }，已完成 { $completed }，已删除 { $deleted }
cli-agent-stats-agents = 智能体：{ $count }
cli-agent-stats-events = 事件：{ $count }
cli-agent-log-none = 还没有事件。创建任务：polis task create --subject "..."
cli-agent-log-no-match = 没有符合条件的事件。查看全部：polis log
