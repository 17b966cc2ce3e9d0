### Output of `polis mcp`: installation in MCP clients, names of sessions.

## Installation

# $client, $file
cli-mcp-added = Added polis to { $client }: { $file }

# $client, $file
cli-mcp-updated = Updated polis in { $client }: { $file }

# $client, $file
cli-mcp-unchanged = polis is already installed in { $client }; nothing was changed: { $file }

# $client, $file
cli-mcp-removed = Removed polis from { $client }: { $file }

# $client, $file
cli-mcp-not-installed = polis is not installed in { $client }: { $file }

cli-mcp-backup = Backup: { $file }

# $agent, $role
cli-mcp-agent-known = Agent { $agent } is registered as { $role }.

cli-mcp-agent-stays = Its agent stays registered.
cli-mcp-entry-disabled = The entry is disabled: enable it to use the server.

# $file, $agent
cli-mcp-print-remark = For { $file }. The agent has to be registered: polis agent add { $agent } --role ROLE

cli-mcp-note = Note: { $note }
cli-mcp-note-local-paths = The entry names paths of this machine; other users of the project must run this command themselves.

## Next step in each client

cli-mcp-next-claude = Next: restart `claude` in the project; `claude mcp list` shows the server.
cli-mcp-next-codex = Next: restart `codex`; `codex mcp list` shows the server.
cli-mcp-next-gemini = Next: restart `gemini`; `gemini mcp list` shows the server.
cli-mcp-next-cursor = Next: restart Cursor; its settings list the server under MCP, as does `cursor-agent mcp list`.
cli-mcp-next-vscode = Next: open the project in VS Code; the command "MCP: List Servers" shows and starts the server.
cli-mcp-next-opencode = Next: restart `opencode`; `opencode mcp list` shows the server.
cli-mcp-next-goose = Next: start a new Goose session; `goose info -v` shows the extension.

## Notes about each client

cli-mcp-note-claude-approval = Claude Code asks once about a server in a project's .mcp.json, when it starts: approve it.
cli-mcp-note-codex-trust = Codex reads a project's .codex/config.toml only in a trusted project.
cli-mcp-note-codex-timeout = The entry sets tool_timeout_sec to 300 s instead of Codex's 60.
cli-mcp-note-codex-tools = Codex asks before destructive tools (write_file, edit_file, run_command, …), and `codex exec` refuses them. `polis mcp install codex --allow-tools` lets it use all tools of polis without asking.
cli-mcp-note-gemini-trust = Gemini CLI starts no server in a folder that is not trusted: trust it when `gemini` asks.
cli-mcp-note-gemini-tools = It asks before each tool call, and without a person to ask it offers no tools. `polis mcp install gemini --allow-tools` lets it use all tools of polis without asking.
cli-mcp-note-cursor-disabled = Cursor may show a new server as disabled: enable it there.
cli-mcp-note-vscode-trust = VS Code asks once whether the server is trusted, and starts none in a restricted workspace.
cli-mcp-note-opencode-timeout = The entry sets timeout to 300 s, because opencode's own default is too short for commands.
cli-mcp-note-goose-comments = Goose rewrites its config.yaml when it changes a setting, and drops comments.

## Where a person allows tools, for a client without such a field in its entry

cli-mcp-allow-in-claude = answer its prompt, or add "mcp__polis" to permissions.allow in .claude/settings.local.json
cli-mcp-allow-in-cursor = allow the tools in Cursor's settings under MCP
cli-mcp-allow-in-vscode = allow the tools when VS Code asks, for the workspace or always
cli-mcp-allow-in-opencode = set the permission of the tools in opencode's configuration; by default it does not ask
cli-mcp-allow-in-goose = choose a mode with `goose configure`

## Sessions

# $agent, $name
cli-mcp-session-renamed = polis: { $agent }: another live session already acts as this agent; this one acts as { $name }.
