terminal-not-plain-text = 无法作为文本发送：{ $error }
    .hint = 请以纯文本书写消息

terminal-no-terminal = `polis tui` 的输入和输出需要终端。
    .hint = 请在终端中运行 `polis tui`；脚本中请用 `polis task list --json`、`polis watch` 等命令
