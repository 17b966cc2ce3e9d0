//! Route table of the API, from which both the router and the OpenAPI document are generated.
//!
//! A route maps a method and a path to a tool. Path parameters are named in the path. All other parameters of
//! the tool are in the query for GET and DELETE, and in the body otherwise. Schemas, area and access come
//! from the tool.

use http::Method;

/// A tool at a method and path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) method: Verb,
    pub(crate) path: &'static str,
    pub(crate) tool: &'static str,
    /// Operation id in the OpenAPI document, if the tool has several routes.
    pub(crate) id: Option<&'static str>,
    /// Summary, if the tool's own description does not fit.
    pub(crate) about: Option<&'static str>,
    /// Status code of success.
    pub(crate) status: u16,
    /// Response fields from which the ETag is made.
    pub(crate) etag: Option<Etag>,
    /// Parameter set by `If-Match`.
    pub(crate) matching: Option<&'static str>,
    /// Boolean parameter set by `If-None-Match: *`.
    pub(crate) absent: Option<&'static str>,
    /// `Location` of a created resource, with response fields in braces.
    pub(crate) location: Option<&'static str>,
    /// Query parameter that takes the response's `next` cursor, if the list is paginated.
    pub(crate) page: Option<&'static str>,
    /// Parameters in the query of a route with a body.
    pub(crate) query: &'static [&'static str],
    /// Default values of parameters.
    pub(crate) preset: &'static [(&'static str, u64)],
    /// Parameters not available on this route.
    pub(crate) hidden: &'static [&'static str],
    /// Whether this route only reads, although the tool can write.
    pub(crate) looks: bool,
}

/// HTTP methods used by the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Verb {
    /// Returns the `http` method.
    pub(crate) fn method(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Post => Method::POST,
            Self::Put => Method::PUT,
            Self::Patch => Method::PATCH,
            Self::Delete => Method::DELETE,
        }
    }

    /// Returns whether parameters are in the body.
    pub(crate) fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

/// Sources of an ETag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Etag {
    /// Response field that changes with every change of the resource: a version or hash.
    pub(crate) field: &'static str,
    /// Response fields that change without a new version.
    pub(crate) aside: &'static [&'static str],
}

/// Tasks and boards have version numbers. The expiry of a lease and the taking of a lock do not increase
/// them.
const VERSION: Etag = Etag {
    field: "version",
    aside: &["stale", "lockedBy", "lockedUntil"],
};
/// The hash of a file is its version.
const HASH: Etag = Etag {
    field: "hash",
    aside: &[],
};

const fn route(method: Verb, path: &'static str, tool: &'static str) -> Route {
    Route {
        method,
        path,
        tool,
        id: None,
        about: None,
        status: 200,
        etag: None,
        matching: None,
        absent: None,
        location: None,
        page: None,
        query: &[],
        preset: &[],
        hidden: &[],
        looks: false,
    }
}

const fn get(path: &'static str, tool: &'static str) -> Route {
    route(Verb::Get, path, tool)
}

const fn post(path: &'static str, tool: &'static str) -> Route {
    route(Verb::Post, path, tool)
}

const fn put(path: &'static str, tool: &'static str) -> Route {
    route(Verb::Put, path, tool)
}

const fn patch(path: &'static str, tool: &'static str) -> Route {
    route(Verb::Patch, path, tool)
}

const fn delete(path: &'static str, tool: &'static str) -> Route {
    route(Verb::Delete, path, tool)
}

impl Route {
    const fn creates(mut self, location: &'static str) -> Self {
        self.status = 201;
        if !location.is_empty() {
            self.location = Some(location);
        }
        self
    }

    const fn versioned(mut self) -> Self {
        self.etag = Some(VERSION);
        self
    }

    const fn hashed(mut self) -> Self {
        self.etag = Some(HASH);
        self
    }

    /// `If-Match` carries the version the client has read.
    const fn if_version(mut self) -> Self {
        self.matching = Some("expectedVersion");
        self
    }

    const fn if_hash(mut self) -> Self {
        self.matching = Some("expectedHash");
        self
    }

    const fn paged(mut self, parameter: &'static str) -> Self {
        self.page = Some(parameter);
        self
    }

    const fn of_path(mut self) -> Self {
        self.query = &["path"];
        self
    }

    /// Marks an additional route of a tool, with its own operation id and summary.
    const fn also(mut self, id: &'static str, about: &'static str) -> Self {
        self.id = Some(id);
        self.about = Some(about);
        self
    }

    /// Returns the operation id.
    pub(crate) fn id(&self) -> &'static str {
        self.id.unwrap_or(self.tool)
    }

    /// Returns the path parameters with the index of their path segment.
    pub(crate) fn names(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let segments = self.path.split('/').enumerate();
        segments.filter_map(|(at, segment)| {
            let name = segment.strip_prefix('{')?.strip_suffix('}')?;
            Some((at, name))
        })
    }
}

/// All routes of the API.
pub(crate) const ROUTES: &[Route] = &[
    get("/v1/tasks", "TaskList").paged("cursor"),
    post("/v1/tasks", "TaskCreate")
        .creates("/v1/tasks/{id}")
        .versioned(),
    post("/v1/tasks/claim", "TaskClaim").versioned(),
    get("/v1/tasks/recommended", "TaskRecommend"),
    get("/v1/tasks/stats", "TaskStats"),
    get("/v1/tasks/{taskId}", "TaskGet").versioned(),
    patch("/v1/tasks/{taskId}", "TaskUpdate")
        .versioned()
        .if_version(),
    post("/v1/tasks/{taskId}/claim", "TaskClaim")
        .versioned()
        .if_version()
        .also("TaskClaimThis", "Take this task and start it."),
    post("/v1/tasks/{taskId}/release", "TaskRelease")
        .versioned()
        .if_version(),
    post("/v1/tasks/{taskId}/approve", "TaskApprove")
        .versioned()
        .if_version(),
    post("/v1/tasks/{taskId}/heartbeat", "TaskHeartbeat").versioned(),
    get("/v1/tasks/{taskId}/comments", "TaskComments").paged("cursor"),
    post("/v1/tasks/{taskId}/comments", "TaskComment").creates(""),
    get("/v1/tasks/{taskId}/history", "TaskHistory").paged("cursor"),
    get("/v1/boards", "whiteboard_list").paged("cursor"),
    get("/v1/boards/{board}", "whiteboard_read").versioned(),
    put("/v1/boards/{board}", "whiteboard_write")
        .versioned()
        .if_version(),
    post("/v1/boards/{board}/append", "whiteboard_append").versioned(),
    post("/v1/boards/{board}/sections", "whiteboard_section")
        .versioned()
        .if_version(),
    post("/v1/boards/{board}/lock", "whiteboard_lock"),
    delete("/v1/boards/{board}/lock", "whiteboard_unlock"),
    get("/v1/boards/{board}/history", "whiteboard_history"),
    get("/v1/boards/{board}/versions/{version}", "whiteboard_show"),
    get("/v1/boards/{board}/diff", "whiteboard_diff"),
    post("/v1/boards/{board}/restore", "whiteboard_restore")
        .versioned()
        .if_version(),
    get("/v1/boards/{board}/decisions", "whiteboard_decisions"),
    post("/v1/boards/{board}/decisions", "whiteboard_decide").versioned(),
    get("/v1/boards/{board}/milestones", "whiteboard_milestones"),
    post("/v1/boards/{board}/milestones", "whiteboard_milestone").versioned(),
    get("/v1/blackboard/{path}", "blackboard_read").versioned(),
    put("/v1/blackboard/{path}", "blackboard_write").versioned(),
    get("/v1/files", "read_file").hashed(),
    Route {
        absent: Some("createOnly"),
        ..put("/v1/files", "write_file").of_path().hashed().if_hash()
    },
    patch("/v1/files", "edit_file").of_path().hashed().if_hash(),
    delete("/v1/files", "delete_file"),
    get("/v1/files/list", "list_files"),
    get("/v1/files/search", "search_files"),
    post("/v1/files/move", "move_file"),
    post("/v1/files/directories", "make_dir"),
    get("/v1/workspace", "get_workspace_info"),
    post("/v1/commands", "run_command"),
    get("/v1/commands", "list_commands").paged("before"),
    get("/v1/commands/{id}", "show_command"),
    Route {
        // Without a start position, reading would mark all messages as read.
        preset: &[("since", 0)],
        hidden: &["waitMs"],
        looks: true,
        ..get("/v1/messages", "check_messages").also(
            "read_messages",
            "Read messages again, read or not, and mark nothing.",
        )
    },
    post("/v1/messages", "send_message").creates(""),
    Route {
        hidden: &["since", "waitMs"],
        ..post("/v1/messages/check", "check_messages")
    },
    post("/v1/artifacts", "put_artifact").creates("/v1/artifacts/{id}"),
    get("/v1/artifacts/{ref}", "get_artifact"),
    get("/v1/agents", "list_agents").paged("cursor"),
    post("/v1/agents", "add_agent").creates("/v1/agents/{id}"),
    get("/v1/agents/{id}", "show_agent"),
    delete("/v1/agents/{id}", "retire_agent"),
    get("/v1/society/runs", "list_runs").paged("cursor"),
    post("/v1/society/runs", "start_run").creates("/v1/society/runs/{taskId}"),
    get("/v1/society/runs/{taskId}", "show_run"),
    get("/v1/society/runs/{taskId}/tree", "get_org"),
    get("/v1/society/runs/{taskId}/roles", "list_roles"),
    post("/v1/society/runs/{taskId}/messages", "tell_run").creates(""),
    post("/v1/society/runs/{taskId}/stop", "stop_run"),
    Route {
        hidden: &["agentId", "subtree"],
        ..post("/v1/society/runs/{taskId}/pause", "pause_society").also(
            "pause_run",
            "Hold up a run: nobody thinks until it is resumed.",
        )
    },
    Route {
        hidden: &["agentId", "subtree"],
        ..post("/v1/society/runs/{taskId}/resume", "resume_society")
            .also("resume_run", "Let a run go on.")
    },
    Route {
        hidden: &["agentId"],
        ..put("/v1/society/runs/{taskId}/budget", "set_budget").also(
            "set_run_budget",
            "Set what everybody of a run may spend together.",
        )
    },
    get("/v1/society/roles", "find_role_by_name"),
    post("/v1/society/roles", "create_role").creates(""),
    get("/v1/society/agents", "list_members").paged("cursor"),
    post("/v1/society/agents", "spawn_agent").creates("/v1/agents/{id}"),
    delete("/v1/society/agents/{agentId}", "terminate_agent"),
    get("/v1/society/agents/{agentId}/log", "read_conversation").paged("from"),
    post("/v1/society/agents/{agentId}/pause", "pause_society"),
    post("/v1/society/agents/{agentId}/resume", "resume_society"),
    put("/v1/society/agents/{agentId}/budget", "set_budget"),
    get("/v1/society/approvals", "list_approvals").paged("cursor"),
    post("/v1/society/approvals", "decide_approval"),
    get("/v1/webhooks", "list_webhooks"),
    post("/v1/webhooks", "add_webhook").creates(""),
    delete("/v1/webhooks/{id}", "remove_webhook"),
    get("/v1/stats", "get_overview"),
    get("/v1/log", "read_log").paged("since"),
];

/// Rewrites a hint for API clients: commands become tools, and tools become method and path of their route.
pub(crate) fn hint_for_api(hint: &str) -> String {
    let hint = polis_ops::tool::hint_for_tools(hint);
    let mut told = String::with_capacity(hint.len());
    for (n, part) in hint.split('`').enumerate() {
        if n > 0 {
            told.push('`');
        }
        let route = ROUTES.iter().find(|route| n % 2 == 1 && route.tool == part);
        match route {
            Some(route) => told.push_str(&format!("{} {}", route.method.method(), route.path)),
            None => told.push_str(part),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use polis_ops::tool::Tool;
    use std::collections::BTreeSet;

    #[test]
    fn hints_name_addresses() {
        for (hint, told) in [
            (
                "run `polis task list` to see the tasks there are",
                "see the tasks there are with `GET /v1/tasks`",
            ),
            (
                "claim another one (`polis task claim` takes the best ready task), or wait",
                "claim another one (`POST /v1/tasks/claim` without taskId takes the best ready one), or wait",
            ),
            (
                "send `Authorization: Bearer TOKEN`",
                "send `Authorization: Bearer TOKEN`",
            ),
            ("TaskList", "TaskList"),
        ] {
            assert_eq!(hint_for_api(hint), told);
        }
    }

    #[test]
    fn every_route_is_of_a_tool_and_names_its_parameters() {
        let mut seen = BTreeSet::new();
        for route in ROUTES {
            let Ok(tool) = Tool::find(route.tool) else {
                panic!("{} is no tool", route.tool);
            };
            assert!(
                seen.insert((route.path, format!("{:?}", route.method))),
                "{}",
                route.path
            );
            let schema = (tool.input)();
            let has = |name: &str| schema["properties"].get(name).is_some();
            let named = route.names().map(|(_, name)| name);
            let others = [route.matching, route.absent, route.page]
                .into_iter()
                .flatten();
            let more = route.query.iter().chain(route.hidden).copied();
            let preset = route.preset.iter().map(|(name, _)| *name);
            for name in named.chain(others).chain(more).chain(preset) {
                assert!(has(name), "{} {name}", route.path);
            }
            let answer = (tool.output)();
            if let Some(etag) = route.etag {
                assert!(
                    answer["properties"].get(etag.field).is_some(),
                    "{}",
                    route.path
                );
            }
            assert!(route.method.has_body() || route.query.is_empty());
            let twins = ROUTES.iter().filter(|other| other.id() == route.id());
            assert_eq!(twins.count(), 1, "{}", route.id());
        }
    }

    #[test]
    fn every_tool_has_a_route() {
        for tool in polis_ops::tool::TOOLS {
            assert!(
                ROUTES.iter().any(|route| route.tool == tool.name),
                "{} has no address",
                tool.name
            );
        }
    }
}
