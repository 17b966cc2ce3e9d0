//! Generic endpoint: selects the tool of a method, collects its parameters, calls it and builds the response.
//!
//! The same code serves every tool. The caller is authenticated before (`gate`). Token scopes are checked
//! here; what the agent itself may do is decided by the operation. Conditional requests (`If-Match`) and
//! idempotency keys are handled here as well.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use bytes::Bytes;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use polis_core::token::{Access, unauthorized};
use polis_core::{Code, Refusal};
use polis_ops::OpError;
use polis_ops::idempotency::{self, Replied};
use polis_ops::op::Follow;
use polis_ops::tool::{Ask, Tool};
use serde_json::{Map, Value};

use super::input::{Inputs, Query};
use super::problem::{self, Problem};
use super::response::{self, Said};
use super::route::{Route, Verb};
use super::server_state::Ground;
use super::{body, etag, path_encoding};
use crate::identity::Identity;
use crate::metrics::{Going, ToolMeter};

/// Idempotency key: a retry with the same key returns the stored response instead of repeating the side
/// effect.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The tool that is exempt from the operation timeout, because commands have their own.
const IN_ITS_OWN_TIME: &str = "run_command";

/// One method of a path.
#[derive(Debug)]
pub(crate) struct Served {
    route: &'static Route,
    tool: &'static Tool,
    method: Method,
    names: Vec<(usize, &'static str)>,
    inputs: Inputs,
    meter: ToolMeter,
}

impl Served {
    pub(crate) fn new(route: &'static Route, ground: &Ground) -> Result<Self, Refusal> {
        let tool = Tool::find(route.tool)?;
        let names: Vec<_> = route.names().collect();
        let in_path: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
        let query = if route.method.has_body() {
            Query::Only(route.query)
        } else {
            Query::All
        };
        let mut schema = (tool.input)();
        response::hide(&mut schema, route.hidden);
        Ok(Self {
            route,
            tool,
            method: route.method.method(),
            inputs: Inputs::of(&schema, &in_path, query),
            names,
            meter: ground.metrics.tool(tool.name),
        })
    }

    /// Returns the access its token scope must grant.
    fn access(&self) -> Access {
        if self.route.looks {
            Access::Read
        } else {
            self.tool.access()
        }
    }
}

/// All methods of a path.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    ground: Arc<Ground>,
    served: Arc<[Served]>,
    allow: HeaderValue,
}

impl Endpoint {
    pub(crate) fn new(ground: Arc<Ground>, served: Vec<Served>) -> Self {
        let mut allow: Vec<&str> = served.iter().map(|one| one.method.as_str()).collect();
        if allow.contains(&"GET") {
            allow.push("HEAD");
        }
        Self {
            allow: HeaderValue::from_str(&allow.join(", ")).unwrap_or(HeaderValue::from_static("")),
            ground,
            served: served.into(),
        }
    }

    async fn answer(self, request: Request<Body>) -> Response<Body> {
        let method = match *request.method() {
            Method::HEAD => &Method::GET,
            ref other => other,
        };
        let served = self.served.iter().find(|one| one.method == *method);
        let answered = match served {
            Some(served) => carry_out(&self.ground, served, request).await,
            None => Err(Problem::method(&self.allow)),
        };
        answered.unwrap_or_else(|problem| response::refused(&self.ground, &problem))
    }
}

impl tower_service::Service<Request<Body>> for Endpoint {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move { Ok(endpoint.answer(request).await) })
    }
}

async fn carry_out(
    ground: &Ground,
    served: &Served,
    request: Request<Body>,
) -> Result<Response<Body>, Problem> {
    let (mut parts, sent) = request.into_parts();
    let identity = parts.extensions.remove::<Identity>();
    let identity = identity.ok_or_else(unauthorized)?;
    identity.check(served.tool.area, served.access())?;
    let mut params = gather(ground, served, &parts, sent).await?;
    let conditional = conditions(served.route, &parts.headers, &mut params)?;
    let key = match served.access() {
        Access::Read => None,
        Access::Write => key(&parts.headers)?,
    };
    let begun = Instant::now();
    let replied = call(ground, served, &identity, params, key).await;
    let code = replied.as_ref().err().map(OpError::code);
    served.meter.observe(code, begun.elapsed());
    let replied = replied.map_err(|error| {
        served.meter.timed_out(&error);
        let status = problem::status_in(error.code(), conditional);
        Problem::from(error).with_status(status)
    })?;
    if served.tool.name == IN_ITS_OWN_TIME && !replied.replayed {
        served.meter.command(&replied.document);
    }
    let said = Said {
        route: served.route,
        parts: &parts,
        document: replied.document,
        replayed: replied.replayed,
        conditional,
    };
    response::given(said).await
}

/// Collects all parameters from path, query, presets and body.
async fn gather(
    ground: &Ground,
    served: &Served,
    parts: &Parts,
    sent: Body,
) -> Result<Map<String, Value>, Refusal> {
    let mut params = Map::new();
    let path = parts.uri.path();
    for (at, name) in &served.names {
        let raw = path.split('/').nth(*at).unwrap_or_default();
        let text = path_encoding::segment(raw)?;
        served.inputs.path(&mut params, name, &text)?;
    }
    if let Some(query) = parts.uri.query() {
        served.inputs.query(&mut params, query)?;
    }
    for (name, value) in served.route.preset {
        if !params.contains_key(*name) {
            params.insert((*name).to_owned(), Value::from(*value));
        }
    }
    if !body::is_there(&sent) {
        return Ok(params);
    }
    let takes = served.route.method.has_body() && served.inputs.take_a_body();
    let most = if takes { ground.options.max_body } else { 0 };
    if takes {
        body::check_json(&parts.headers)?;
    }
    let bytes: Bytes = body::read(sent, most, ground.options.body_timeout).await?;
    if !bytes.is_empty() {
        served.inputs.body(&mut params, &bytes)?;
    }
    Ok(params)
}

/// Translates `If-Match` and `If-None-Match` into parameters of the tool. Returns whether the request is
/// conditional.
fn conditions(
    route: &Route,
    headers: &HeaderMap,
    params: &mut Map<String, Value>,
) -> Result<bool, Problem> {
    let mut conditional = false;
    if let Some(text) = single(headers, &IF_MATCH)? {
        let (Some(parameter), Some(tags)) = (route.matching, etag::parse(text)) else {
            return Err(bad_condition().into());
        };
        conditional = true;
        match tags {
            etag::Tags::These(tags) => {
                let [tag] = tags.as_slice() else {
                    return Err(bad_condition().into());
                };
                let expected = expected(parameter, tag).ok_or_else(|| mismatch(parameter))?;
                if params.insert(parameter.to_owned(), expected).is_some() {
                    return Err(bad_condition().into());
                }
            }
            // The file may not exist, and no parameter of the tool would make the request fail then.
            etag::Tags::Any if route.absent.is_some() => return Err(bad_condition().into()),
            etag::Tags::Any => {}
        }
    }
    if let Some(text) = single(headers, &IF_NONE_MATCH)? {
        if route.method == Verb::Get {
            // Compared with the ETag after reading, when the response is built.
            etag::parse(text).ok_or_else(bad_condition)?;
            return Ok(conditional);
        }
        let (Some(parameter), Some(etag::Tags::Any)) = (route.absent, etag::parse(text)) else {
            return Err(bad_condition().into());
        };
        conditional = true;
        params.insert(parameter.to_owned(), Value::Bool(true));
    }
    Ok(conditional)
}

/// Returns the tool parameter for an ETag in `If-Match`; `None` if no version can have this ETag.
fn expected(parameter: &str, tag: &etag::Tag<'_>) -> Option<Value> {
    let core = etag::core(tag.value);
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

fn mismatch(parameter: &str) -> Problem {
    let code = if parameter == "expectedHash" {
        Code::HashMismatch
    } else {
        Code::VersionMismatch
    };
    let refusal = Refusal::new(
        code,
        "No version has the ETag in If-Match.",
        "read it again, and use the ETag of that answer",
    );
    Problem::from(refusal).with_status(StatusCode::PRECONDITION_FAILED)
}

fn bad_condition() -> Refusal {
    Refusal::new(
        Code::InvalidInput,
        "The request's condition is malformed, said twice, or not one for this address.",
        "send If-Match with the one ETag you have read, as it was, where /v1/openapi.json names it",
    )
}

/// Returns a header that may occur at most once. Fails with `InvalidInput` if it is repeated or not ASCII.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) if value.to_str().is_ok() => Ok(value.to_str().ok()),
        _ => Err(Refusal::new(
            Code::InvalidInput,
            format!("The header {name} is there more than once, or is not plain text."),
            "send it once, in ASCII",
        )),
    }
}

fn key(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    single(headers, &IDEMPOTENCY_KEY)
}

/// Calls the tool, with or without an idempotency key.
async fn call(
    ground: &Ground,
    served: &Served,
    identity: &Identity,
    params: Map<String, Value>,
    key: Option<&str>,
) -> Result<Replied, OpError> {
    let changes = &ground.metrics.changes;
    let _going = (served.access() == Access::Write).then(|| Going::on(changes));
    if served.tool.outside {
        return detached(ground, served, identity, params, key).await;
    }
    let ask = Ask::new(&identity.agent, params);
    let polis = identity.on(&ground.polis);
    let doing = ask_tool(&polis, served.tool, ask, key);
    match tokio::time::timeout(ground.options.operation_timeout, doing).await {
        Ok(replied) => replied,
        Err(_) => Err(too_long().into()),
    }
}

async fn ask_tool(
    polis: &polis_ops::Polis,
    tool: &'static Tool,
    ask: Ask<'_>,
    key: Option<&str>,
) -> Result<Replied, OpError> {
    match key {
        Some(key) => idempotency::call_once(polis, tool, ask, key).await,
        None => tool.call(polis, ask).await.map(|answer| Replied {
            document: answer.document,
            replayed: false,
        }),
    }
}

/// Calls a tool whose effect is not a single commit, in a task of its own. The task runs to its end, and into
/// the log, even if the client disconnects. A command is stopped then, and when the shutdown grace period is
/// over.
async fn detached(
    ground: &Ground,
    served: &Served,
    identity: &Identity,
    params: Map<String, Value>,
    key: Option<&str>,
) -> Result<Replied, OpError> {
    let stop = ground.closing.over.child_token();
    let _gone = stop.clone().drop_guard();
    let (polis, tool) = (identity.on(&ground.polis), served.tool);
    let (agent, key) = (identity.agent.clone(), key.map(ToOwned::to_owned));
    let deed = ground.closing.deeds.spawn(async move {
        let mut ask = Ask::new(&agent, params);
        ask.follow = Follow {
            watcher: None,
            stop: Some(Box::pin(stop.cancelled_owned())),
        };
        ask_tool(&polis, tool, ask, key.as_deref()).await
    });
    let failed = |error| polis_ops::PortError::internal("The tool", error);
    if tool.name == IN_ITS_OWN_TIME {
        return deed.await.map_err(failed)?;
    }
    match tokio::time::timeout(ground.options.operation_timeout, deed).await {
        Ok(done) => done.map_err(failed)?,
        Err(_) => Err(too_long().into()),
    }
}

fn too_long() -> Refusal {
    Refusal::new(
        Code::RequestTimeout,
        "The operation took too long; whether it was carried out is not known.",
        "look at the state of things; with an Idempotency-Key the same request can simply be sent again",
    )
}
