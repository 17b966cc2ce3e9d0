### Output of `polis mcp`: installation in MCP clients, names of sessions.

## Installation

cli-mcp-added = 已将 polis 添加到 { $client }：{ $file }
cli-mcp-updated = 已更新 { $client } 中的 polis：{ $file }
cli-mcp-unchanged = { $client } 中已安装 polis，未作任何更改：{ $file }
cli-mcp-removed = 已从 { $client } 中移除 polis：{ $file }
cli-mcp-not-installed = { $client } 中没有安装 polis：{ $file }
cli-mcp-backup = 备份：{ $file }
cli-mcp-agent-known = 智能体 { $agent } 先前已注册（角色 { $role }）。
cli-mcp-agent-stays = 其智能体仍保持注册。
cli-mcp-entry-disabled = 该条目已停用：请启用后再使用服务器。
cli-mcp-print-remark = 用于 { $file }。智能体必须已注册：polis agent add { $agent } --role ROLE
cli-mcp-note = 注意：{ $note }
cli-mcp-note-local-paths = 条目中含有本机的路径，项目的其他用户必须自行运行此命令。

## Next step in each client

cli-mcp-next-claude = 下一步：在项目中重新启动 `claude`；`claude mcp list` 会显示该服务器。
cli-mcp-next-codex = 下一步：重新启动 `codex`；`codex mcp list` 会显示该服务器。
cli-mcp-next-gemini = 下一步：重新启动 `gemini`；`gemini mcp list` 会显示该服务器。
cli-mcp-next-cursor = 下一步：重新启动 Cursor；其设置的 MCP 一栏会列出该服务器，`cursor-agent mcp list` 也会列出。
cli-mcp-next-vscode = 下一步：在 VS Code 中打开项目；命令“MCP: List Servers”会显示并启动该服务器。
cli-mcp-next-opencode = 下一步：重新启动 `opencode`；`opencode mcp list` 会显示该服务器。
cli-mcp-next-goose = 下一步：启动新的 Goose 会话；`goose info -v` 会显示该扩展。

## Notes about each client

cli-mcp-note-claude-approval = Claude Code 启动时会就项目 .mcp.json 中的服务器询问一次：请批准。
cli-mcp-note-codex-trust = Codex 只在受信任的项目中读取 .codex/config.toml。
cli-mcp-note-codex-timeout = 条目将 tool_timeout_sec 设为 300 秒，而不是 Codex 默认的 60 秒。
cli-mcp-note-codex-tools = Codex 会在使用破坏性工具（write_file、edit_file、run_command 等）前询问，`codex exec` 则会拒绝它们。`polis mcp install codex --allow-tools` 允许它不经询问使用 polis 的全部工具。
cli-mcp-note-gemini-trust = Gemini CLI 不会在未受信任的文件夹中启动服务器：`gemini` 询问时请选择信任。
cli-mcp-note-gemini-tools = 它在每次调用工具前都会询问；无人可询问时，它不提供任何工具。`polis mcp install gemini --allow-tools` 允许它不经询问使用 polis 的全部工具。
cli-mcp-note-cursor-disabled = Cursor 可能将新服务器显示为停用：请在那里启用它。
cli-mcp-note-vscode-trust = VS Code 会询问一次是否信任该服务器，并且不会在受限工作区中启动服务器。
cli-mcp-note-opencode-timeout = 条目将 timeout 设为 300 秒，因为 opencode 自身的默认值对命令来说太短。
cli-mcp-note-goose-comments = Goose 更改设置时会重写其 config.yaml，并丢弃注释。

## Where a person allows tools, for a client without such a field in its entry

cli-mcp-allow-in-claude = 在其提示中选择允许，或在 .claude/settings.local.json 的 permissions.allow 中加入 "mcp__polis"
cli-mcp-allow-in-cursor = 在 Cursor 设置的 MCP 一栏中允许这些工具
cli-mcp-allow-in-vscode = 在 VS Code 询问时允许这些工具，可仅限该工作区或始终允许
cli-mcp-allow-in-opencode = 在 opencode 的配置中设置这些工具的权限；默认不询问
cli-mcp-allow-in-goose = 用 `goose configure` 选择模式

## Sessions

cli-mcp-session-renamed = polis：{ $agent }：已有另一个在线会话以该智能体的身份运行，本会话的身份为 { $name }。
