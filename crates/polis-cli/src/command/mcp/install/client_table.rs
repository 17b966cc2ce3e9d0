//! Table of the supported MCP client programs: which configuration files each reads, where in them servers
//! are defined, how an entry is written, and what its user has to know. Nothing here opens a file.

use std::path::Path;

use clap::ValueEnum;
use polis_i18n::{MessageLabel, msg};
use serde_json::{Value, json};

use super::config_location::UserConfigPath;
use super::entry_edit::{ConfigFormat, EntryField, find_entry};
use super::jsonc::JsonDialect;
use super::server_launch::ServerLaunch;

/// Name of our server in every client's configuration.
pub(super) const SERVER_NAME: &str = "polis";
/// Tool timeout, in seconds, written for clients whose own timeout is shorter: commands have a default
/// timeout of one minute.
const TOOL_TIMEOUT_SECS: u32 = 300;

/// An MCP client program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    Claude,
    Codex,
    Gemini,
    Cursor,
    Vscode,
    Opencode,
    Goose,
}

/// Format of an entry: the fields that contain the command line.
#[derive(Debug, Clone, Copy)]
enum EntryShape {
    /// `command` and `args`, and optionally the kind of server.
    Command { kind: Option<&'static str> },
    /// `command` and `args` with a tool timeout, in seconds.
    TimedCommand,
    /// One list, program first.
    CommandList,
    /// An extension of Goose.
    Extension,
}

/// Where a person lets a client use every tool of the server without asking.
#[derive(Debug, Clone, Copy)]
pub(super) enum ToolPermission {
    /// In this field of the entry.
    EntryField(fn() -> EntryField),
    /// Elsewhere; the instruction where.
    Elsewhere(MessageLabel),
}

/// Profile of a client program.
#[derive(Debug)]
pub(super) struct ClientProfile {
    pub(super) id: &'static str,
    /// Display name of the client.
    pub(super) title: &'static str,
    pub(super) format: ConfigFormat,
    /// Path of keys to the servers.
    servers_path: &'static [&'static str],
    shape: EntryShape,
    pub(super) tool_permission: ToolPermission,
    /// Variable syntax that the client expands in entries; our values must not contain it.
    pub(super) expanded_syntax: &'static [&'static str],
    /// Configuration files in a project; the first is created if none exists.
    pub(super) project_files: &'static [&'static str],
    /// Candidates for the user's own configuration file; the first that resolves is used.
    pub(super) user_files: &'static [UserConfigPath],
    /// Alternative names of the user's file, which are read too.
    pub(super) user_file_aliases: &'static [&'static str],
    /// Next steps: how to activate the server and check that it works.
    pub(super) next_steps: MessageLabel,
    /// Further notes: trust, timeouts.
    pub(super) notes: &'static [MessageLabel],
}

const STRICT_JSON: ConfigFormat = ConfigFormat::Json(JsonDialect {
    comments: false,
    trailing_commas: false,
    byte_order_mark: true,
});
const JSON_WITH_COMMENTS: ConfigFormat = ConfigFormat::Json(JsonDialect {
    comments: true,
    trailing_commas: false,
    byte_order_mark: false,
});
const LENIENT_JSON: ConfigFormat = ConfigFormat::Json(JsonDialect {
    comments: true,
    trailing_commas: true,
    byte_order_mark: true,
});

static CLAUDE: ClientProfile = ClientProfile {
    id: "claude",
    title: "Claude Code",
    format: STRICT_JSON,
    servers_path: &["mcpServers"],
    shape: EntryShape::Command {
        kind: Some("stdio"),
    },
    tool_permission: ToolPermission::Elsewhere(msg::cli_mcp_allow_in_claude),
    expanded_syntax: &["${"],
    project_files: &[".mcp.json"],
    user_files: &[
        UserConfigPath::Variable("CLAUDE_CONFIG_DIR", ".claude.json"),
        UserConfigPath::Home(".claude.json"),
    ],
    user_file_aliases: &[],
    next_steps: msg::cli_mcp_next_claude,
    notes: &[msg::cli_mcp_note_claude_approval],
};

static CODEX: ClientProfile = ClientProfile {
    id: "codex",
    title: "Codex",
    format: ConfigFormat::Toml,
    servers_path: &["mcp_servers"],
    shape: EntryShape::TimedCommand,
    tool_permission: ToolPermission::EntryField(|| {
        ("default_tools_approval_mode", json!("approve"))
    }),
    expanded_syntax: &[],
    project_files: &[".codex/config.toml"],
    user_files: &[
        UserConfigPath::Variable("CODEX_HOME", "config.toml"),
        UserConfigPath::Home(".codex/config.toml"),
    ],
    user_file_aliases: &[],
    next_steps: msg::cli_mcp_next_codex,
    notes: &[
        msg::cli_mcp_note_codex_trust,
        msg::cli_mcp_note_codex_timeout,
        msg::cli_mcp_note_codex_tools,
    ],
};

static GEMINI: ClientProfile = ClientProfile {
    id: "gemini",
    title: "Gemini CLI",
    format: JSON_WITH_COMMENTS,
    servers_path: &["mcpServers"],
    shape: EntryShape::Command { kind: None },
    tool_permission: ToolPermission::EntryField(|| ("trust", json!(true))),
    expanded_syntax: &["$"],
    project_files: &[".gemini/settings.json"],
    user_files: &[
        UserConfigPath::Variable("GEMINI_CLI_HOME", ".gemini/settings.json"),
        UserConfigPath::Home(".gemini/settings.json"),
    ],
    user_file_aliases: &[],
    next_steps: msg::cli_mcp_next_gemini,
    notes: &[
        msg::cli_mcp_note_gemini_trust,
        msg::cli_mcp_note_gemini_tools,
    ],
};

static CURSOR: ClientProfile = ClientProfile {
    id: "cursor",
    title: "Cursor",
    format: LENIENT_JSON,
    servers_path: &["mcpServers"],
    shape: EntryShape::Command {
        kind: Some("stdio"),
    },
    tool_permission: ToolPermission::Elsewhere(msg::cli_mcp_allow_in_cursor),
    expanded_syntax: &["${"],
    project_files: &[".cursor/mcp.json"],
    user_files: &[UserConfigPath::Home(".cursor/mcp.json")],
    user_file_aliases: &[],
    next_steps: msg::cli_mcp_next_cursor,
    notes: &[msg::cli_mcp_note_cursor_disabled],
};

static VSCODE: ClientProfile = ClientProfile {
    id: "vscode",
    title: "VS Code",
    format: LENIENT_JSON,
    servers_path: &["servers"],
    shape: EntryShape::Command {
        kind: Some("stdio"),
    },
    tool_permission: ToolPermission::Elsewhere(msg::cli_mcp_allow_in_vscode),
    expanded_syntax: &["${"],
    project_files: &[".vscode/mcp.json"],
    user_files: if cfg!(target_os = "macos") {
        &[UserConfigPath::Home(
            "Library/Application Support/Code/User/mcp.json",
        )]
    } else {
        &[
            UserConfigPath::Variable("XDG_CONFIG_HOME", "Code/User/mcp.json"),
            UserConfigPath::Home(".config/Code/User/mcp.json"),
        ]
    },
    user_file_aliases: &[],
    next_steps: msg::cli_mcp_next_vscode,
    notes: &[msg::cli_mcp_note_vscode_trust],
};

static OPENCODE: ClientProfile = ClientProfile {
    id: "opencode",
    title: "opencode",
    format: LENIENT_JSON,
    servers_path: &["mcp"],
    shape: EntryShape::CommandList,
    tool_permission: ToolPermission::Elsewhere(msg::cli_mcp_allow_in_opencode),
    expanded_syntax: &["{env:", "{file:"],
    project_files: &[
        "opencode.json",
        "opencode.jsonc",
        ".opencode/opencode.json",
        ".opencode/opencode.jsonc",
    ],
    user_files: &[
        UserConfigPath::Variable("XDG_CONFIG_HOME", "opencode/opencode.json"),
        UserConfigPath::Home(".config/opencode/opencode.json"),
    ],
    user_file_aliases: &["opencode.jsonc"],
    next_steps: msg::cli_mcp_next_opencode,
    notes: &[msg::cli_mcp_note_opencode_timeout],
};

static GOOSE: ClientProfile = ClientProfile {
    id: "goose",
    title: "Goose",
    format: ConfigFormat::Yaml,
    servers_path: &["extensions"],
    shape: EntryShape::Extension,
    tool_permission: ToolPermission::Elsewhere(msg::cli_mcp_allow_in_goose),
    expanded_syntax: &[],
    project_files: &[],
    user_files: &[
        UserConfigPath::Variable("GOOSE_PATH_ROOT", "config/config.yaml"),
        UserConfigPath::Variable("XDG_CONFIG_HOME", "goose/config.yaml"),
        UserConfigPath::Home(".config/goose/config.yaml"),
    ],
    user_file_aliases: &[],
    next_steps: msg::cli_mcp_next_goose,
    notes: &[msg::cli_mcp_note_goose_comments],
};

impl McpClient {
    pub(super) fn profile(self) -> &'static ClientProfile {
        match self {
            Self::Claude => &CLAUDE,
            Self::Codex => &CODEX,
            Self::Gemini => &GEMINI,
            Self::Cursor => &CURSOR,
            Self::Vscode => &VSCODE,
            Self::Opencode => &OPENCODE,
            Self::Goose => &GOOSE,
        }
    }
}

impl ClientProfile {
    /// Returns the path of keys to our entry in this document.
    pub(super) fn entry_path(&self, tree: &Value) -> Vec<&'static str> {
        let mut keys = self.servers_path.to_vec();
        // opencode 2 nests its servers one level deeper, and reads both layouts.
        if matches!(self.shape, EntryShape::CommandList)
            && find_entry(tree, &["mcp", "servers"]).is_some_and(is_server_map)
        {
            keys.push("servers");
        }
        keys.push(SERVER_NAME);
        keys
    }

    /// Returns the fields of our entry: first those that we keep up to date, then those that are only set at
    /// first and are the user's to change.
    pub(super) fn entry_fields(&self, launch: &ServerLaunch) -> (Vec<EntryField>, Vec<EntryField>) {
        let ServerLaunch { program, arguments } = launch;
        let command = [("command", json!(program)), ("args", json!(arguments))];
        match self.shape {
            EntryShape::Command { kind } => {
                let kind = kind.map(|kind| ("type", Value::from(kind)));
                (kind.into_iter().chain(command).collect(), Vec::new())
            }
            EntryShape::TimedCommand => (
                command.into(),
                vec![("tool_timeout_sec", json!(TOOL_TIMEOUT_SECS))],
            ),
            EntryShape::CommandList => {
                let list: Vec<&String> = std::iter::once(program).chain(arguments).collect();
                let ours = vec![("type", json!("local")), ("command", json!(list))];
                let timeout = json!(TOOL_TIMEOUT_SECS * 1_000);
                (ours, vec![("enabled", json!(true)), ("timeout", timeout)])
            }
            EntryShape::Extension => {
                let ours = vec![
                    ("type", json!("stdio")),
                    ("name", json!(SERVER_NAME)),
                    ("cmd", json!(program)),
                    ("args", json!(arguments)),
                ];
                let begins = vec![
                    ("enabled", json!(true)),
                    (
                        "description",
                        json!("Tasks, boards, files and commands of the team"),
                    ),
                    ("timeout", json!(TOOL_TIMEOUT_SECS)),
                ];
                (ours, begins)
            }
        }
    }

    /// Returns the command line of an entry: the program, then its arguments.
    fn entry_command_line<'v>(&self, entry: &'v Value) -> Vec<&'v str> {
        let texts = |value: Option<&'v Value>| {
            let list = value.and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str)
        };
        let one = |key: &str| entry.get(key).and_then(Value::as_str).into_iter();
        match self.shape {
            EntryShape::Command { .. } | EntryShape::TimedCommand => {
                one("command").chain(texts(entry.get("args"))).collect()
            }
            EntryShape::CommandList => texts(entry.get("command")).collect(),
            EntryShape::Extension => one("cmd").chain(texts(entry.get("args"))).collect(),
        }
    }

    /// Returns whether an entry of our name starts our server, rather than a different one.
    pub(super) fn is_our_entry(&self, entry: &Value, launch: Option<&ServerLaunch>) -> bool {
        let started = self.entry_command_line(entry);
        let program = started.first().copied().unwrap_or_default();
        let named = Path::new(program)
            .file_name()
            .is_some_and(|name| name == SERVER_NAME);
        let same = launch.is_some_and(|launch| launch.program == program);
        (named || same) && started.get(1) == Some(&"mcp")
    }
}

/// Returns whether a value is a map of servers, rather than a server.
fn is_server_map(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|map| map.values().all(Value::is_object))
}

/// Returns whether an entry is disabled.
pub(super) fn is_entry_disabled(entry: &Value) -> bool {
    entry.get("enabled") == Some(&Value::Bool(false))
        || entry.get("disabled") == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_server_with_our_name_is_not_ours() {
        let launch = ServerLaunch {
            program: "/opt/polis-dev".to_owned(),
            arguments: vec!["mcp".to_owned()],
        };
        let ours =
            |client: McpClient, entry: Value| client.profile().is_our_entry(&entry, Some(&launch));
        assert!(ours(
            McpClient::Claude,
            json!({"command": "/x/polis", "args": ["mcp", "--agent", "a"]})
        ));
        assert!(ours(
            McpClient::Claude,
            json!({"command": "polis", "args": ["mcp"]})
        ));
        assert!(ours(
            McpClient::Claude,
            json!({"command": "/opt/polis-dev", "args": ["mcp"]})
        ));
        assert!(ours(
            McpClient::Opencode,
            json!({"command": ["polis", "mcp"]})
        ));
        assert!(ours(
            McpClient::Goose,
            json!({"cmd": "polis", "args": ["mcp"]})
        ));
        for other in [
            json!({"command": "npx", "args": ["polis", "mcp"]}),
            json!({"command": "polis", "args": ["serve"]}),
            json!({"command": "polis"}),
            json!({"url": "https://polis.example/mcp"}),
            json!({"command": 7, "args": "mcp"}),
        ] {
            assert!(!ours(McpClient::Claude, other.clone()), "{other}");
        }
    }

    #[test]
    fn opencode_layouts_are_distinguished() {
        let keys = |tree: Value| McpClient::Opencode.profile().entry_path(&tree).join(".");
        assert_eq!(keys(json!({})), "mcp.polis");
        assert_eq!(keys(json!({"mcp": {"a": {"type": "local"}}})), "mcp.polis");
        assert_eq!(keys(json!({"mcp": {"servers": {}}})), "mcp.servers.polis");
        assert_eq!(
            keys(json!({"mcp": {"servers": {"a": {"type": "local"}}}})),
            "mcp.servers.polis"
        );
        assert_eq!(
            keys(json!({"mcp": {"servers": {"type": "local"}}})),
            "mcp.polis"
        );
    }
}
