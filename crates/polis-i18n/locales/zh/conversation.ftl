### Conversations of members with their model.

conversation-title = 对话
conversation-empty = 还没有对话。
conversation-later = 更晚
conversation-shortened = 这些回合内容较长，未全部显示。
conversation-show-rest = 显示其余
conversation-summarized-mark = 已摘要
conversation-received-mark = 收到
conversation-calls-mark = 次调用
conversation-result-mark = 结果
conversation-note-prefix = 提示：
conversation-turns-summarized = 此前的回合已压缩为摘要
conversation-call-running = 进行中
conversation-call-failed = 失败
conversation-call-denied = 已拒绝
conversation-call-arguments = 参数
conversation-call-result = 结果
conversation-rest-not-shown = 其余内容未显示。
