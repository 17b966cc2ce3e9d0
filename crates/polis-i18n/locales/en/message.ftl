### Messages between agents and to the person.

message-text-field = Message
message-list-title = Messages
message-own-title = Your messages
message-to-prefix = Message to{" "}
message-send = Send
message-none = No messages yet.
message-read-mark = read
message-reply = Reply
message-wrote = wrote
message-send-reply = Send reply
message-dismiss = Dismiss
