### 面向模型的事件日志、概览和 Webhook 工具结果。

tool-event-none = 没有事件。
tool-event-overview = 任务：待处理 { $pending }，进行中 { $running }，已完成 { $completed }。智能体：{ $agents }。事件：{ $events }。
tool-event-webhook-added = 已添加 Webhook { $id }；其密钥为 { $secret }
tool-event-no-webhooks = 没有 Webhook。
tool-event-webhook-removed = 已移除 Webhook { $id }。
