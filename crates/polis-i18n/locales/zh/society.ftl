### 智能体社会的运行时：消息标头、给成员的提示、给上级的通知、摘要请求。
### 成员在对话中读到这些文字。

## 消息

society-mail-header = [消息 { $message }，来自 { $sender }]
society-mail-header-reply = [消息 { $message }，来自 { $sender }，回复 { $other }]
society-mail-truncated = [已截断：共 { $size } 字节，显示了前 { $shown } 字节；读取其余部分：{ $call }]

## 上下文压缩

society-summary-request = 你的上下文快满了。请为你自己写一份到目前为止的对话摘要：要求是什么，已决定什么，已完成什么（按名称或编号列出文件、任务、产物和消息），还有什么未完成，下一步要做什么。只回答摘要，不要调用工具。不必写你的角色、任务说明书和未完成任务：每次提示都会包含它们。
society-transcript-intro = 以下是你到目前为止的对话；较长的部分已截断。
society-summary-header = [到目前为止的对话摘要；更早的内容不再显示]
society-digest-header = [对话过长，已被截断；以下是缩短后的最后部分]
society-bytes-removed = [… 省略 { $count } 字节 …]

## 就回答给成员的提示

society-truncated-response = [你的回答因过长被截断；请用更短的回答继续，必要时分几步完成]
society-content-filter = [你的回答被模型提供方的内容过滤拦截；请换一种方式]
society-missing-calls = [你的回答声明要调用工具，但没有包含任何调用；请现在调用，或说明你已完成]
society-empty-response = [你的回答是空的；请继续工作，或用一句话说明你已完成或在等待]
society-dropped-calls = [你的回答要求 { $total } 次调用；只执行了前 { $executed } 次。其余 { $dropped } 次请在接下来的回答中进行]

## 重复调用

society-repeated-call = 在你最近的回答中，{ $tool } 已用这些参数调用了 { $count } 次；未再执行。
society-repeated-call-hint = 做别的事，或停止调用工具并等待消息；需要等待时，在一次调用中等得更久
society-same-result = { $tool } 用这些参数在你的 { $count } 次回答中结果都相同；未再执行。
society-same-result-hint = 做别的事，或停止调用工具并等待消息

## 给上级的通知

society-no-response-notice = { $agent } 结束了这一回合，但没有给出回答：其模型的回答为空，再次请求后仍为空。请检查它的工作，并发消息让它继续。
society-parked-notice = { $agent } 已搁置：其模型持续失败（{ $reason }）。`user` 恢复它之后才会继续。
society-loop-notice = { $agent } 已暂停：它反复用相同参数调用 { $tool }。请告诉它换一种做法；`user` 恢复它之后才会继续。
society-budget-notice = { $agent } 已暂停：{ $reason } `user` 提高预算并恢复它之后才会继续。

## 状态的原因，供用户阅读和用于通知

society-empty-response-reason = 模型的回答为空，再次请求后仍为空
society-incomplete-responses-reason = 模型的回答反复被截断、拦截或不完整
society-incomplete-responses = 其回答反复被截断、拦截或不完整
society-context-too-small = 上下文上限太小，容不下角色和任务说明书
society-loop-reason = 反复用相同参数调用 { $tool }
society-paused-by = 由 { $agent } 暂停
society-time-budget-used = 时间预算已用完。
