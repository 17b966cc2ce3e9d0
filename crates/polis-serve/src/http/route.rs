//! Route table of the API: the routes that call tools. Their handlers and OpenAPI operations are generated
//! from it.
//!
//! Not in the table: health, metrics and the OpenAPI document (`builtin_routes`), and live events (`events`).
//! A route maps a method and a path to a tool. Path parameters are named in the path. All other parameters of
//! the tool are in the query for GET and DELETE, and in the body otherwise, except those that the route puts
//! into the query or hides. A route also says what its ETag is made of and how its list is paginated.
//! Schemas, area and access come from the tool, but a route may hide parameters, set defaults, and require only
//! read access (`is_read_only`).

use http::Method;

/// A route of the API: a tool at a method and path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApiRoute {
    pub(crate) method: RouteMethod,
    pub(crate) path: &'static str,
    pub(crate) tool: &'static str,
    /// Operation id in the OpenAPI document, if the tool has several routes.
    pub(crate) operation_id: Option<&'static str>,
    /// Summary, if the tool's own description does not fit.
    pub(crate) summary: Option<&'static str>,
    /// Status code of success.
    pub(crate) status: u16,
    /// Response fields from which the ETag is made.
    pub(crate) etag_source: Option<EtagSource>,
    /// Parameter set by `If-Match`.
    pub(crate) if_match_param: Option<&'static str>,
    /// Boolean parameter set by `If-None-Match: *`.
    pub(crate) if_none_match_param: Option<&'static str>,
    /// `Location` of a created resource, with response fields in braces.
    pub(crate) location_template: Option<&'static str>,
    /// Query parameter that takes the response's `next` cursor, if the list is paginated.
    pub(crate) page_param: Option<&'static str>,
    /// Parameters in the query of a route with a body.
    pub(crate) query_params: &'static [&'static str],
    /// Default values of parameters.
    pub(crate) default_params: &'static [(&'static str, u64)],
    /// Parameters not available on this route.
    pub(crate) hidden_params: &'static [&'static str],
    /// Whether this route only reads, although the tool can write.
    pub(crate) is_read_only: bool,
}

/// HTTP methods used by the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteMethod {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl RouteMethod {
    /// Returns the `http` method.
    pub(crate) fn to_http_method(self) -> Method {
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
pub(crate) struct EtagSource {
    /// Response field that changes with every change of the resource: a version or hash.
    pub(crate) version_field: &'static str,
    /// Response fields that change without a new version.
    pub(crate) extra_fields: &'static [&'static str],
}

/// Tasks and boards have version numbers. The expiry of a lease and the taking of a lock do not increase
/// them.
const VERSION_ETAG: EtagSource = EtagSource {
    version_field: "version",
    extra_fields: &["stale", "lockedBy", "lockedUntil"],
};
/// The hash of a file is its version.
const HASH_ETAG: EtagSource = EtagSource {
    version_field: "hash",
    extra_fields: &[],
};

const fn new_route(method: RouteMethod, path: &'static str, tool: &'static str) -> ApiRoute {
    ApiRoute {
        method,
        path,
        tool,
        operation_id: None,
        summary: None,
        status: 200,
        etag_source: None,
        if_match_param: None,
        if_none_match_param: None,
        location_template: None,
        page_param: None,
        query_params: &[],
        default_params: &[],
        hidden_params: &[],
        is_read_only: false,
    }
}

const fn get(path: &'static str, tool: &'static str) -> ApiRoute {
    new_route(RouteMethod::Get, path, tool)
}

const fn post(path: &'static str, tool: &'static str) -> ApiRoute {
    new_route(RouteMethod::Post, path, tool)
}

const fn put(path: &'static str, tool: &'static str) -> ApiRoute {
    new_route(RouteMethod::Put, path, tool)
}

const fn patch(path: &'static str, tool: &'static str) -> ApiRoute {
    new_route(RouteMethod::Patch, path, tool)
}

const fn delete(path: &'static str, tool: &'static str) -> ApiRoute {
    new_route(RouteMethod::Delete, path, tool)
}

impl ApiRoute {
    const fn creates_resource(mut self, location: &'static str) -> Self {
        self.status = 201;
        if !location.is_empty() {
            self.location_template = Some(location);
        }
        self
    }

    const fn with_version_etag(mut self) -> Self {
        self.etag_source = Some(VERSION_ETAG);
        self
    }

    const fn with_hash_etag(mut self) -> Self {
        self.etag_source = Some(HASH_ETAG);
        self
    }

    /// Makes `If-Match` set the version the client has read.
    const fn if_match_version(mut self) -> Self {
        self.if_match_param = Some("expectedVersion");
        self
    }

    const fn if_match_hash(mut self) -> Self {
        self.if_match_param = Some("expectedHash");
        self
    }

    const fn paginated_by(mut self, parameter: &'static str) -> Self {
        self.page_param = Some(parameter);
        self
    }

    const fn with_path_in_query(mut self) -> Self {
        self.query_params = &["path"];
        self
    }

    /// Marks an additional route of a tool, with its own operation id and summary.
    const fn with_operation_id(mut self, id: &'static str, summary: &'static str) -> Self {
        self.operation_id = Some(id);
        self.summary = Some(summary);
        self
    }

    /// Returns the operation id.
    pub(crate) fn operation_id(&self) -> &'static str {
        self.operation_id.unwrap_or(self.tool)
    }

    /// Returns the path parameters with the index of their path segment.
    pub(crate) fn path_params(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let segments = self.path.split('/').enumerate();
        segments.filter_map(|(at, segment)| {
            let name = segment.strip_prefix('{')?.strip_suffix('}')?;
            Some((at, name))
        })
    }
}

/// All routes of the API.
pub(crate) const ROUTES: &[ApiRoute] = &[
    get("/v1/tasks", "TaskList").paginated_by("cursor"),
    post("/v1/tasks", "TaskCreate")
        .creates_resource("/v1/tasks/{id}")
        .with_version_etag(),
    post("/v1/tasks/claim", "TaskClaim").with_version_etag(),
    get("/v1/tasks/recommended", "TaskRecommend"),
    get("/v1/tasks/stats", "TaskStats"),
    get("/v1/tasks/{taskId}", "TaskGet").with_version_etag(),
    patch("/v1/tasks/{taskId}", "TaskUpdate")
        .with_version_etag()
        .if_match_version(),
    post("/v1/tasks/{taskId}/claim", "TaskClaim")
        .with_version_etag()
        .if_match_version()
        .with_operation_id("TaskClaimThis", "Claim this task and start it."),
    post("/v1/tasks/{taskId}/release", "TaskRelease")
        .with_version_etag()
        .if_match_version(),
    post("/v1/tasks/{taskId}/approve", "TaskApprove")
        .with_version_etag()
        .if_match_version(),
    post("/v1/tasks/{taskId}/heartbeat", "TaskHeartbeat").with_version_etag(),
    get("/v1/tasks/{taskId}/comments", "TaskComments").paginated_by("cursor"),
    post("/v1/tasks/{taskId}/comments", "TaskComment").creates_resource(""),
    get("/v1/tasks/{taskId}/history", "TaskHistory").paginated_by("cursor"),
    get("/v1/boards", "whiteboard_list").paginated_by("cursor"),
    get("/v1/boards/{board}", "whiteboard_read").with_version_etag(),
    put("/v1/boards/{board}", "whiteboard_write")
        .with_version_etag()
        .if_match_version(),
    post("/v1/boards/{board}/append", "whiteboard_append").with_version_etag(),
    post("/v1/boards/{board}/sections", "whiteboard_section")
        .with_version_etag()
        .if_match_version(),
    post("/v1/boards/{board}/lock", "whiteboard_lock"),
    delete("/v1/boards/{board}/lock", "whiteboard_unlock"),
    get("/v1/boards/{board}/history", "whiteboard_history"),
    get("/v1/boards/{board}/versions/{version}", "whiteboard_show"),
    get("/v1/boards/{board}/diff", "whiteboard_diff"),
    post("/v1/boards/{board}/restore", "whiteboard_restore")
        .with_version_etag()
        .if_match_version(),
    get("/v1/boards/{board}/decisions", "whiteboard_decisions"),
    post("/v1/boards/{board}/decisions", "whiteboard_decide").with_version_etag(),
    get("/v1/boards/{board}/milestones", "whiteboard_milestones"),
    post("/v1/boards/{board}/milestones", "whiteboard_milestone").with_version_etag(),
    get("/v1/blackboard/{path}", "blackboard_read").with_version_etag(),
    put("/v1/blackboard/{path}", "blackboard_write").with_version_etag(),
    get("/v1/files", "read_file").with_hash_etag(),
    ApiRoute {
        if_none_match_param: Some("createOnly"),
        ..put("/v1/files", "write_file")
            .with_path_in_query()
            .with_hash_etag()
            .if_match_hash()
    },
    patch("/v1/files", "edit_file")
        .with_path_in_query()
        .with_hash_etag()
        .if_match_hash(),
    delete("/v1/files", "delete_file"),
    get("/v1/files/list", "list_files"),
    get("/v1/files/search", "search_files"),
    post("/v1/files/move", "move_file"),
    post("/v1/files/directories", "make_dir"),
    get("/v1/workspace", "get_workspace_info"),
    post("/v1/commands", "run_command"),
    get("/v1/commands", "list_commands").paginated_by("before"),
    get("/v1/commands/{id}", "show_command"),
    ApiRoute {
        // Without a start position, reading would mark all messages as read.
        default_params: &[("since", 0)],
        hidden_params: &["waitMs"],
        is_read_only: true,
        ..get("/v1/messages", "check_messages").with_operation_id(
            "read_messages",
            "Read messages without marking them as read.",
        )
    },
    post("/v1/messages", "send_message").creates_resource(""),
    ApiRoute {
        hidden_params: &["since", "waitMs"],
        ..post("/v1/messages/check", "check_messages")
    },
    post("/v1/artifacts", "put_artifact").creates_resource("/v1/artifacts/{id}"),
    get("/v1/artifacts/{ref}", "get_artifact"),
    get("/v1/agents", "list_agents").paginated_by("cursor"),
    post("/v1/agents", "add_agent").creates_resource("/v1/agents/{id}"),
    get("/v1/agents/{id}", "show_agent"),
    delete("/v1/agents/{id}", "retire_agent"),
    get("/v1/society/runs", "list_runs").paginated_by("cursor"),
    post("/v1/society/runs", "start_run").creates_resource("/v1/society/runs/{runId}"),
    get("/v1/society/runs/{runId}", "show_run"),
    get("/v1/society/runs/{runId}/tree", "get_org"),
    get("/v1/society/runs/{runId}/roles", "list_roles"),
    post("/v1/society/runs/{runId}/messages", "tell_run").creates_resource(""),
    post("/v1/society/runs/{runId}/stop", "stop_run"),
    ApiRoute {
        hidden_params: &["agentId", "subtree"],
        ..post("/v1/society/runs/{runId}/pause", "pause_society").with_operation_id(
            "pause_run",
            "Pause a run: no member takes a turn until it is resumed.",
        )
    },
    ApiRoute {
        hidden_params: &["agentId", "subtree"],
        ..post("/v1/society/runs/{runId}/resume", "resume_society")
            .with_operation_id("resume_run", "Resume a paused run.")
    },
    ApiRoute {
        hidden_params: &["agentId"],
        ..put("/v1/society/runs/{runId}/budget", "set_budget")
            .with_operation_id("set_run_budget", "Set the total budget of a run.")
    },
    get("/v1/society/roles", "find_role_by_name"),
    post("/v1/society/roles", "create_role").creates_resource(""),
    get("/v1/society/agents", "list_members").paginated_by("cursor"),
    post("/v1/society/agents", "spawn_agent").creates_resource("/v1/agents/{id}"),
    delete("/v1/society/agents/{agentId}", "terminate_agent"),
    get("/v1/society/agents/{agentId}/log", "read_conversation").paginated_by("from"),
    post("/v1/society/agents/{agentId}/pause", "pause_society"),
    post("/v1/society/agents/{agentId}/resume", "resume_society"),
    put("/v1/society/agents/{agentId}/budget", "set_budget"),
    get("/v1/society/approvals", "list_approvals").paginated_by("cursor"),
    post("/v1/society/approvals", "decide_approval"),
    get("/v1/webhooks", "list_webhooks"),
    post("/v1/webhooks", "add_webhook").creates_resource(""),
    delete("/v1/webhooks/{id}", "remove_webhook"),
    get("/v1/stats", "get_overview"),
    get("/v1/log", "read_log").paginated_by("since"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use polis_ops::tool::Tool;
    use std::collections::BTreeSet;
    #[test]
    fn every_route_has_a_tool_with_its_parameters() {
        let mut seen = BTreeSet::new();
        for route in ROUTES {
            let Ok(tool) = Tool::find(route.tool) else {
                panic!("{} is not a tool", route.tool);
            };
            assert!(
                seen.insert((route.path, format!("{:?}", route.method))),
                "{}",
                route.path
            );
            let schema = (tool.input_schema)();
            let has = |name: &str| schema["properties"].get(name).is_some();
            let path_names = route.path_params().map(|(_, name)| name);
            let others = [
                route.if_match_param,
                route.if_none_match_param,
                route.page_param,
            ]
            .into_iter()
            .flatten();
            let more = route
                .query_params
                .iter()
                .chain(route.hidden_params)
                .copied();
            let preset = route.default_params.iter().map(|(name, _)| *name);
            for name in path_names.chain(others).chain(more).chain(preset) {
                assert!(has(name), "{} {name}", route.path);
            }
            let answer = (tool.output_schema)();
            if let Some(etag) = route.etag_source {
                assert!(
                    answer["properties"].get(etag.version_field).is_some(),
                    "{}",
                    route.path
                );
            }
            assert!(route.method.has_body() || route.query_params.is_empty());
            let same_id = ROUTES
                .iter()
                .filter(|other| other.operation_id() == route.operation_id());
            assert_eq!(same_id.count(), 1, "{}", route.operation_id());
        }
    }

    #[test]
    fn every_tool_has_a_route() {
        for tool in polis_ops::tool::TOOLS {
            assert!(
                ROUTES.iter().any(|route| route.tool == tool.name),
                "{} has no route",
                tool.name
            );
        }
    }
}
