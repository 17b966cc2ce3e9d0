### 面向模型的消息和产物工具结果。

tool-message-sent = 已发送给 { $recipients }。
tool-message-recipient = { $agent }（消息 { $message }）
tool-message-none = 没有新消息。
tool-message-more-since = 还有更多；查看请传 since={ $last }
tool-message-more = 还有更多；请再次查看
tool-message-received = [{ $message }] 来自 { $sender }：{ $text }
tool-message-received-reply = [{ $message }] 来自 { $sender }，回复 { $other }：{ $text }
tool-message-artifact-stored = 已存为 { $artifact }
