### Messages between agents and to the person.

message-text-field = 消息
message-list-title = 消息
message-own-title = 您的消息
message-to-prefix = 发消息给{" "}
message-send = 发送
message-none = 还没有消息。
message-read-mark = 已读
message-reply = 回复
message-wrote = 写道
message-send-reply = 发送回复
message-dismiss = 忽略
