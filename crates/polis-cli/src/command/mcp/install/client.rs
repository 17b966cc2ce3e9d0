//! Table of the supported MCP client programs: which configuration files each reads, where in them servers are defined,
//! how an entry is written, and what its user has to know. Nothing here opens a file.

use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::config_location::Own;
use super::edit::{Field, Format, entry};
use super::jsonc::Dialect;
use super::launch::Launch;

/// Name of our server in every client's configuration.
pub(super) const SERVER: &str = "polis";
/// Tool timeout, in seconds, written for clients whose own timeout is shorter: commands have a default timeout of one
/// minute.
const PATIENCE: u32 = 300;

/// A program that agents run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    Claude,
    Codex,
    Gemini,
    Cursor,
    Vscode,
    Opencode,
    Goose,
}

/// Format of an entry.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// `command` and `args`, and optionally the kind of server.
    Command { kind: Option<&'static str> },
    /// `command` and `args` with a tool timeout, in seconds.
    TimedCommand,
    /// One list, program first.
    List,
    /// An extension of Goose.
    Extension,
}

/// Profile of a client program.
#[derive(Debug)]
pub(super) struct Profile {
    pub(super) id: &'static str,
    /// Name for people.
    pub(super) title: &'static str,
    pub(super) format: Format,
    /// Path of keys to the servers.
    servers: &'static [&'static str],
    shape: Shape,
    /// Field of an entry that lets the client use every tool of the server without asking a person, if it supports that
    /// in the entry.
    allow_tools: Option<fn() -> Field>,
    /// Variable syntax that the client expands in entries; our values must not contain it.
    pub(super) replaces: &'static [&'static str],
    /// Configuration files in a project; the first is created if none exists.
    pub(super) project: &'static [&'static str],
    /// Candidates for the user's own configuration file; the first that resolves is used.
    pub(super) own: &'static [Own],
    /// Alternative names of the user's file, which are read too.
    pub(super) own_too: &'static [&'static str],
    /// Next steps: how to activate the server and check that it works.
    pub(super) next: &'static str,
    /// Where a person allows tools, for a client without such a field in the entry.
    pub(super) permissions: &'static str,
    /// Further notes: trust, timeouts.
    pub(super) notes: &'static [&'static str],
}

const STRICT: Format = Format::Json(Dialect {
    comments: false,
    trailing_commas: false,
    byte_order_mark: true,
});
const COMMENTS: Format = Format::Json(Dialect {
    comments: true,
    trailing_commas: false,
    byte_order_mark: false,
});
const LENIENT: Format = Format::Json(Dialect {
    comments: true,
    trailing_commas: true,
    byte_order_mark: true,
});

static CLAUDE: Profile = Profile {
    id: "claude",
    title: "Claude Code",
    format: STRICT,
    servers: &["mcpServers"],
    shape: Shape::Command {
        kind: Some("stdio"),
    },
    allow_tools: None,
    replaces: &["${"],
    project: &[".mcp.json"],
    own: &[
        Own::Variable("CLAUDE_CONFIG_DIR", ".claude.json"),
        Own::Home(".claude.json"),
    ],
    own_too: &[],
    next: "start `claude` in the project again; `claude mcp list` shows the server",
    permissions: "answer its question, or add \"mcp__polis\" to permissions.allow in .claude/settings.local.json",
    notes: &[
        "A server of a project's .mcp.json is asked about once, when `claude` starts: approve it.",
    ],
};

static CODEX: Profile = Profile {
    id: "codex",
    title: "Codex",
    format: Format::Toml,
    servers: &["mcp_servers"],
    shape: Shape::TimedCommand,
    allow_tools: Some(|| ("default_tools_approval_mode", json!("approve"))),
    replaces: &[],
    project: &[".codex/config.toml"],
    own: &[
        Own::Variable("CODEX_HOME", "config.toml"),
        Own::Home(".codex/config.toml"),
    ],
    own_too: &[],
    next: "start `codex` again; `codex mcp list` shows the server",
    permissions: "",
    notes: &[
        "Codex reads a project's .codex/config.toml only in a project that it was told to trust.",
        "The entry gives a tool 300 s instead of Codex's 60: tool_timeout_sec.",
        "Codex asks before tools that may lose something (write_file, edit_file, run_command, …), and `codex exec` \
         refuses them. `polis mcp install codex --allow-tools` lets it use all tools of polis without asking.",
    ],
};

static GEMINI: Profile = Profile {
    id: "gemini",
    title: "Gemini CLI",
    format: COMMENTS,
    servers: &["mcpServers"],
    shape: Shape::Command { kind: None },
    allow_tools: Some(|| ("trust", json!(true))),
    replaces: &["$"],
    project: &[".gemini/settings.json"],
    own: &[
        Own::Variable("GEMINI_CLI_HOME", ".gemini/settings.json"),
        Own::Home(".gemini/settings.json"),
    ],
    own_too: &[],
    next: "start `gemini` again; `gemini mcp list` shows the server",
    permissions: "",
    notes: &[
        "Gemini CLI starts no server in a folder that is not trusted: trust it when `gemini` asks.",
        "It asks before each tool is used, and without a person to ask it offers none of them. \
         `polis mcp install gemini --allow-tools` lets it use all tools of polis without asking.",
    ],
};

static CURSOR: Profile = Profile {
    id: "cursor",
    title: "Cursor",
    format: LENIENT,
    servers: &["mcpServers"],
    shape: Shape::Command {
        kind: Some("stdio"),
    },
    allow_tools: None,
    replaces: &["${"],
    project: &[".cursor/mcp.json"],
    own: &[Own::Home(".cursor/mcp.json")],
    own_too: &[],
    next: "restart Cursor; its settings list the server under MCP, and `cursor-agent mcp list` does",
    permissions: "allow the tools in Cursor's settings under MCP",
    notes: &["Cursor may show a new server switched off: switch it on there."],
};

static VSCODE: Profile = Profile {
    id: "vscode",
    title: "VS Code",
    format: LENIENT,
    servers: &["servers"],
    shape: Shape::Command {
        kind: Some("stdio"),
    },
    allow_tools: None,
    replaces: &["${"],
    project: &[".vscode/mcp.json"],
    own: if cfg!(target_os = "macos") {
        &[Own::Home("Library/Application Support/Code/User/mcp.json")]
    } else {
        &[
            Own::Variable("XDG_CONFIG_HOME", "Code/User/mcp.json"),
            Own::Home(".config/Code/User/mcp.json"),
        ]
    },
    own_too: &[],
    next: "open the project in VS Code; the command \"MCP: List Servers\" shows and starts the server",
    permissions: "allow the tools when VS Code asks, for the workspace or always",
    notes: &[
        "VS Code asks once whether the server is trusted, and starts none in a restricted workspace.",
    ],
};

static OPENCODE: Profile = Profile {
    id: "opencode",
    title: "opencode",
    format: LENIENT,
    servers: &["mcp"],
    shape: Shape::List,
    allow_tools: None,
    replaces: &["{env:", "{file:"],
    project: &[
        "opencode.json",
        "opencode.jsonc",
        ".opencode/opencode.json",
        ".opencode/opencode.jsonc",
    ],
    own: &[
        Own::Variable("XDG_CONFIG_HOME", "opencode/opencode.json"),
        Own::Home(".config/opencode/opencode.json"),
    ],
    own_too: &["opencode.jsonc"],
    next: "start `opencode` again; `opencode mcp list` shows the server",
    permissions: "set the permission of the tools in opencode's configuration; it asks for none of them by default",
    notes: &[
        "The entry gives a request 300 s, because opencode's own default is too short for commands: timeout.",
    ],
};

static GOOSE: Profile = Profile {
    id: "goose",
    title: "Goose",
    format: Format::Yaml,
    servers: &["extensions"],
    shape: Shape::Extension,
    allow_tools: None,
    replaces: &[],
    project: &[],
    own: &[
        Own::Variable("GOOSE_PATH_ROOT", "config/config.yaml"),
        Own::Variable("XDG_CONFIG_HOME", "goose/config.yaml"),
        Own::Home(".config/goose/config.yaml"),
    ],
    own_too: &[],
    next: "start a new Goose session; `goose info -v` shows the extension",
    permissions: "choose a mode with `goose configure`",
    notes: &[
        "Goose writes its config.yaml anew when it changes a setting, and drops comments then.",
    ],
};

impl Client {
    pub(super) fn profile(self) -> &'static Profile {
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

impl Profile {
    /// Returns the path of keys to our entry in this document.
    pub(super) fn keys(&self, tree: &Value) -> Vec<&'static str> {
        let mut keys = self.servers.to_vec();
        // opencode 2 nests its servers one level deeper, and reads both layouts.
        if matches!(self.shape, Shape::List) && entry(tree, &["mcp", "servers"]).is_some_and(is_map)
        {
            keys.push("servers");
        }
        keys.push(SERVER);
        keys
    }

    /// Returns the fields of our entry: first those that we keep up to date, then those that are only set at first and
    /// are the user's to change.
    pub(super) fn fields(&self, launch: &Launch) -> (Vec<Field>, Vec<Field>) {
        let Launch { program, arguments } = launch;
        let command = [("command", json!(program)), ("args", json!(arguments))];
        match self.shape {
            Shape::Command { kind } => {
                let kind = kind.map(|kind| ("type", Value::from(kind)));
                (kind.into_iter().chain(command).collect(), Vec::new())
            }
            Shape::TimedCommand => (command.into(), vec![("tool_timeout_sec", json!(PATIENCE))]),
            Shape::List => {
                let list: Vec<&String> = std::iter::once(program).chain(arguments).collect();
                let ours = vec![("type", json!("local")), ("command", json!(list))];
                let patience = json!(PATIENCE * 1_000);
                (ours, vec![("enabled", json!(true)), ("timeout", patience)])
            }
            Shape::Extension => {
                let ours = vec![
                    ("type", json!("stdio")),
                    ("name", json!(SERVER)),
                    ("cmd", json!(program)),
                    ("args", json!(arguments)),
                ];
                let begins = vec![
                    ("enabled", json!(true)),
                    (
                        "description",
                        json!("Tasks, boards, files and commands of the team"),
                    ),
                    ("timeout", json!(PATIENCE)),
                ];
                (ours, begins)
            }
        }
    }

    /// Returns the field that lets the client use every tool without asking a person.
    ///
    /// Fails with the place where this is allowed instead, if the entry has no such field.
    pub(super) fn allow_tools(&self) -> Result<Field, &'static str> {
        self.allow_tools
            .map(|field| field())
            .ok_or(self.permissions)
    }

    /// Returns the command line of an entry: the program, then its arguments.
    fn started<'v>(&self, entry: &'v Value) -> Vec<&'v str> {
        let texts = |value: Option<&'v Value>| {
            let list = value.and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str)
        };
        let one = |key: &str| entry.get(key).and_then(Value::as_str).into_iter();
        match self.shape {
            Shape::Command { .. } | Shape::TimedCommand => {
                one("command").chain(texts(entry.get("args"))).collect()
            }
            Shape::List => texts(entry.get("command")).collect(),
            Shape::Extension => one("cmd").chain(texts(entry.get("args"))).collect(),
        }
    }

    /// Returns whether an entry of our name starts our server, rather than a different one.
    pub(super) fn is_ours(&self, entry: &Value, launch: Option<&Launch>) -> bool {
        let started = self.started(entry);
        let program = started.first().copied().unwrap_or_default();
        let named = Path::new(program)
            .file_name()
            .is_some_and(|name| name == SERVER);
        let same = launch.is_some_and(|launch| launch.program == program);
        (named || same) && started.get(1) == Some(&"mcp")
    }
}

/// Returns whether a value is a map of servers, rather than a server.
fn is_map(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|map| map.values().all(Value::is_object))
}

/// Returns whether an entry is disabled.
pub(super) fn is_off(entry: &Value) -> bool {
    entry.get("enabled") == Some(&Value::Bool(false))
        || entry.get("disabled") == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_elses_server_of_our_name_is_not_ours() {
        let launch = Launch {
            program: "/opt/polis-dev".to_owned(),
            arguments: vec!["mcp".to_owned()],
        };
        let ours = |client: Client, entry: Value| client.profile().is_ours(&entry, Some(&launch));
        assert!(ours(
            Client::Claude,
            json!({"command": "/x/polis", "args": ["mcp", "--agent", "a"]})
        ));
        assert!(ours(
            Client::Claude,
            json!({"command": "polis", "args": ["mcp"]})
        ));
        assert!(ours(
            Client::Claude,
            json!({"command": "/opt/polis-dev", "args": ["mcp"]})
        ));
        assert!(ours(Client::Opencode, json!({"command": ["polis", "mcp"]})));
        assert!(ours(
            Client::Goose,
            json!({"cmd": "polis", "args": ["mcp"]})
        ));
        for other in [
            json!({"command": "npx", "args": ["polis", "mcp"]}),
            json!({"command": "polis", "args": ["serve"]}),
            json!({"command": "polis"}),
            json!({"url": "https://polis.example/mcp"}),
            json!({"command": 7, "args": "mcp"}),
        ] {
            assert!(!ours(Client::Claude, other.clone()), "{other}");
        }
    }

    #[test]
    fn opencodes_two_layouts_are_told_apart() {
        let keys = |tree: Value| Client::Opencode.profile().keys(&tree).join(".");
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
