//! Route endpoint: selects the tool of a method, collects its parameters, calls it and builds the response.
//!
//! The same code serves every tool. The caller is already authenticated (`admission`). Token scopes are
//! checked here; what the agent itself may do is decided by the operation. Conditional requests (`If-Match`)
//! and idempotency keys (`Idempotency-Key`) are handled here as well. Every call except of a command has a
//! timeout. A call that acts outside of the store runs to its end, and into the log, even if the client
//! disconnects; a command is stopped then.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use bytes::Bytes;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use polis_core::Refusal;
use polis_core::token::{AccessLevel, unauthorized_refusal};
use polis_ops::OpError;
use polis_ops::idempotency::{self, IdempotentResponse};
use polis_ops::op::CommandObservers;
use polis_ops::tool::{Tool, ToolRequest};
use serde_json::{Map, Value};

use super::problem::{self, HttpProblem};
use super::request::request_params::{QueryParamSet, RouteParams};
use super::request::{body, etag, url_encoding};
use super::response::{self, HttpToolResult};
use super::route::{ApiRoute, RouteMethod};
use super::server_state::ServerState;
use crate::caller_identity::CallerIdentity;
use crate::metrics::{GaugeGuard, ToolMeter};
use crate::refusal_tables::HttpRefusal;

/// Idempotency key: a retry with the same key returns the stored response instead of repeating the side
/// effect.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The tool that is exempt from the operation timeout, because commands have their own.
const UNTIMED_TOOL: &str = "run_command";

/// Handler of one method of a path: the route, its tool and its parameters.
#[derive(Debug)]
pub(crate) struct RouteHandler {
    route: &'static ApiRoute,
    tool: &'static Tool,
    method: Method,
    path_params: Vec<(usize, &'static str)>,
    params: RouteParams,
    meter: ToolMeter,
}

impl RouteHandler {
    pub(crate) fn new(route: &'static ApiRoute, state: &ServerState) -> Result<Self, Refusal> {
        let tool = Tool::find(route.tool)?;
        let names: Vec<_> = route.path_params().collect();
        let in_path: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
        let query = if route.method.has_body() {
            QueryParamSet::Only(route.query_params)
        } else {
            QueryParamSet::All
        };
        let mut schema = (tool.input_schema)();
        response::remove_schema_params(&mut schema, route.hidden_params);
        Ok(Self {
            route,
            tool,
            method: route.method.to_http_method(),
            params: RouteParams::from_schema(&schema, &in_path, query),
            path_params: names,
            meter: state.metrics.tool_meter(tool.name),
        })
    }

    /// Returns the access its token scope must grant.
    fn required_access(&self) -> AccessLevel {
        if self.route.is_read_only {
            AccessLevel::Read
        } else {
            self.tool.required_access()
        }
    }
}

/// Handlers of all methods of a path.
#[derive(Debug, Clone)]
pub(crate) struct RouteEndpoint {
    state: Arc<ServerState>,
    handlers: Arc<[RouteHandler]>,
    allow: HeaderValue,
}

impl RouteEndpoint {
    pub(crate) fn new(state: Arc<ServerState>, served: Vec<RouteHandler>) -> Self {
        let mut allow: Vec<&str> = served.iter().map(|one| one.method.as_str()).collect();
        if allow.contains(&"GET") {
            allow.push("HEAD");
        }
        Self {
            allow: HeaderValue::from_str(&allow.join(", ")).unwrap_or(HeaderValue::from_static("")),
            state,
            handlers: served.into(),
        }
    }

    /// Returns the response to a request of any method.
    pub(crate) async fn handle(self, request: Request<Body>) -> Response<Body> {
        let method = match *request.method() {
            Method::HEAD => &Method::GET,
            ref other => other,
        };
        let served = self.handlers.iter().find(|one| one.method == *method);
        let result = match served {
            Some(served) => handle_tool_request(&self.state, served, request).await,
            None => Err(HttpProblem::method_not_allowed(&self.allow)),
        };
        result.unwrap_or_else(|problem| response::problem_response(&self.state, &problem))
    }
}

async fn handle_tool_request(
    state: &ServerState,
    served: &RouteHandler,
    request: Request<Body>,
) -> Result<Response<Body>, HttpProblem> {
    let (mut parts, sent) = request.into_parts();
    let identity = parts.extensions.remove::<CallerIdentity>();
    let identity = identity.ok_or_else(unauthorized_refusal)?;
    identity.check_scope(served.tool.area, served.required_access())?;
    let mut params = collect_params(state, served, &parts, sent).await?;
    let conditional = apply_conditional_headers(served.route, &parts.headers, &mut params)?;
    let key = match served.required_access() {
        AccessLevel::Read => None,
        AccessLevel::Write => idempotency_key(&parts.headers)?,
    };
    let start = Instant::now();
    let result = call_tool(state, served, &identity, params, key).await;
    let code = result.as_ref().err().map(OpError::code);
    served.meter.record_call(code, start.elapsed());
    let result = result.map_err(|error| {
        served.meter.count_command_timeout(&error);
        let status = problem::status_for_operation_error(error.code(), conditional);
        HttpProblem::from(error).with_status(status)
    })?;
    if served.tool.name == UNTIMED_TOOL && !result.replayed {
        served.meter.count_command(&result.document);
    }
    let tool_result = HttpToolResult {
        route: served.route,
        parts: &parts,
        document: result.document,
        replayed: result.replayed,
        conditional,
    };
    response::tool_response(tool_result).await
}

/// Collects all parameters from path, query, default values and body.
async fn collect_params(
    state: &ServerState,
    served: &RouteHandler,
    parts: &Parts,
    sent: Body,
) -> Result<Map<String, Value>, Refusal> {
    let mut params = Map::new();
    let path = parts.uri.path();
    for (at, name) in &served.path_params {
        let raw = path.split('/').nth(*at).unwrap_or_default();
        let text = url_encoding::decode_path_segment(raw)?;
        served.params.add_path_param(&mut params, name, &text)?;
    }
    if let Some(query) = parts.uri.query() {
        served.params.add_query_params(&mut params, query)?;
    }
    for (name, value) in served.route.default_params {
        if !params.contains_key(*name) {
            params.insert((*name).to_owned(), Value::from(*value));
        }
    }
    if !body::has_body(&sent) {
        return Ok(params);
    }
    let expects_body = served.route.method.has_body() && served.params.has_body_params();
    let limit = if expects_body {
        state.options.max_body_bytes
    } else {
        0
    };
    if expects_body {
        body::check_json_content_type(&parts.headers)?;
    }
    let bytes: Bytes = body::read_body(sent, limit, state.options.body_timeout).await?;
    if !bytes.is_empty() {
        served.params.add_body_params(&mut params, &bytes)?;
    }
    Ok(params)
}

/// Translates `If-Match` and `If-None-Match` into parameters of the tool. Returns whether the request is
/// conditional.
fn apply_conditional_headers(
    route: &ApiRoute,
    headers: &HeaderMap,
    params: &mut Map<String, Value>,
) -> Result<bool, HttpProblem> {
    let mut conditional = false;
    if let Some(text) = single_header(headers, &IF_MATCH)? {
        let (Some(parameter), Some(tags)) =
            (route.if_match_param, etag::parse_etag_condition(text))
        else {
            return Err(invalid_condition().into());
        };
        conditional = true;
        match tags {
            etag::EtagCondition::OneOf(tags) => {
                let [tag] = tags.as_slice() else {
                    return Err(invalid_condition().into());
                };
                let expected = expected_version_param(parameter, tag)
                    .ok_or_else(|| precondition_failed(parameter))?;
                if params.insert(parameter.to_owned(), expected).is_some() {
                    return Err(invalid_condition().into());
                }
            }
            // The file may not exist, and no parameter of the tool would make the request fail then.
            etag::EtagCondition::Any if route.if_none_match_param.is_some() => {
                return Err(invalid_condition().into());
            }
            etag::EtagCondition::Any => {}
        }
    }
    if let Some(text) = single_header(headers, &IF_NONE_MATCH)? {
        if route.method == RouteMethod::Get {
            // Compared with the ETag after reading, when the response is built.
            etag::parse_etag_condition(text).ok_or_else(invalid_condition)?;
            return Ok(conditional);
        }
        let (Some(parameter), Some(etag::EtagCondition::Any)) =
            (route.if_none_match_param, etag::parse_etag_condition(text))
        else {
            return Err(invalid_condition().into());
        };
        conditional = true;
        params.insert(parameter.to_owned(), Value::Bool(true));
    }
    Ok(conditional)
}

/// Returns the tool parameter for an ETag in `If-Match`; `None` if no version can have this ETag.
fn expected_version_param(parameter: &str, tag: &etag::EntityTag<'_>) -> Option<Value> {
    let core = etag::etag_version(tag.value);
    if tag.weak {
        return None;
    }
    if parameter == "expectedHash" {
        let hash = core.len() == 64 && core.bytes().all(|b| b.is_ascii_hexdigit());
        return hash.then(|| Value::from(core));
    }
    let digits = core.bytes().all(|b| b.is_ascii_digit());
    core.parse::<u64>().ok().filter(|_| digits).map(Value::from)
}

fn precondition_failed(parameter: &str) -> HttpProblem {
    let refusal = Refusal::from(if parameter == "expectedHash" {
        HttpRefusal::EtagOfNoFile
    } else {
        HttpRefusal::EtagOfNoVersion
    });
    HttpProblem::from(refusal).with_status(StatusCode::PRECONDITION_FAILED)
}

fn invalid_condition() -> Refusal {
    Refusal::from(HttpRefusal::InvalidCondition)
}

/// Returns a header that may occur at most once. Fails with `InvalidInput` if it is repeated or not ASCII.
fn single_header<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) if value.to_str().is_ok() => Ok(value.to_str().ok()),
        _ => Err(Refusal::from(HttpRefusal::InvalidHeader {
            name: name.to_string(),
        })),
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    single_header(headers, &IDEMPOTENCY_KEY)
}

/// Calls the tool, with or without an idempotency key.
async fn call_tool(
    state: &ServerState,
    served: &RouteHandler,
    identity: &CallerIdentity,
    params: Map<String, Value>,
    key: Option<&str>,
) -> Result<IdempotentResponse, OpError> {
    let changes = &state.metrics.writes_in_flight;
    let _guard = (served.required_access() == AccessLevel::Write).then(|| GaugeGuard::new(changes));
    if served.tool.acts_outside_store {
        return call_detached(state, served, identity, params, key).await;
    }
    let request = identity.request(&state.app);
    let call = call_with_idempotency_key(&request, served.tool, ToolRequest::new(params), key);
    match tokio::time::timeout(state.options.operation_timeout, call).await {
        Ok(result) => result,
        Err(_) => Err(operation_timed_out().into()),
    }
}

async fn call_with_idempotency_key(
    request: &polis_ops::Request,
    tool: &'static Tool,
    call: ToolRequest,
    key: Option<&str>,
) -> Result<IdempotentResponse, OpError> {
    match key {
        Some(key) => idempotency::call_idempotent(request, tool, call, key).await,
        None => tool
            .call(request, call)
            .await
            .map(|answer| IdempotentResponse {
                document: answer.document,
                replayed: false,
            }),
    }
}

/// Calls a tool whose effect is not a single commit, in a task of its own. The task runs to its end, and into
/// the log, even if the client disconnects. A command is stopped then, and when the shutdown grace period is
/// over.
async fn call_detached(
    state: &ServerState,
    served: &RouteHandler,
    identity: &CallerIdentity,
    params: Map<String, Value>,
    key: Option<&str>,
) -> Result<IdempotentResponse, OpError> {
    let stop = state.shutdown.grace_expired.child_token();
    let _cancel_guard = stop.clone().drop_guard();
    let (request, tool) = (identity.request(&state.app), served.tool);
    let key = key.map(ToOwned::to_owned);
    let task = state.shutdown.detached_operations.spawn(async move {
        let mut call = ToolRequest::new(params);
        call.observers = CommandObservers {
            watcher: None,
            cancel: Some(Box::pin(stop.cancelled_owned())),
        };
        call_with_idempotency_key(&request, tool, call, key.as_deref()).await
    });
    let failed = |error| polis_ops::PortError::internal("The tool", error);
    if tool.name == UNTIMED_TOOL {
        return task.await.map_err(failed)?;
    }
    match tokio::time::timeout(state.options.operation_timeout, task).await {
        Ok(done) => done.map_err(failed)?,
        Err(_) => Err(operation_timed_out().into()),
    }
}

fn operation_timed_out() -> Refusal {
    Refusal::from(HttpRefusal::OperationTimeout)
}
