member-record-damaged = { $record } 无法读取。
    .cli = 请运行 `polis doctor`
    .tool = 请告知运行 polis 的人
    .screen = 请重试；如仍失败，请查看服务器日志

member-changed-by-other = 该成员已被另一个写入者更改。
    .hint = 请重新加载该成员并再次决定

member-call-denied = `user` 拒绝了这次调用。
    .hint = 请在没有它的情况下继续，或用 send_message 询问 `user`
    .screen = 请找有权限的人处理

member-call-denied-with-note = `user` 拒绝了这次调用。备注：{ $note }
    .hint = 请在没有它的情况下继续，或用 send_message 询问 `user`
    .screen = 请找有权限的人处理

member-arguments-not-an-object = 参数不是 JSON 对象：{ $error }。
    .hint = 请以一个 JSON 对象作为参数重新调用

member-call-interrupted = 执行此调用时进程结束；不清楚它是否已生效。没有重复执行。
    .hint = 请检查它更改了什么，必要时重新调用

member-lease-damaged = 运行的租约已损坏。
    .cli = 请从备份恢复存储；`polis doctor` 会检查它
    .tool = 请告知运行 polis 的人从备份恢复存储
    .screen = 请重试；如仍失败，请查看服务器日志
