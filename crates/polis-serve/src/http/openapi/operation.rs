//! Builds the OpenAPI operation of a route: parameters, request body, responses and links.

use std::collections::BTreeMap;

use polis_core::token::{Access, Area};
use polis_ops::tool::Tool;
use serde_json::{Map, Value, json};

use super::{examples, schema_narrowing, shared};
use crate::http::response;
use crate::http::route::{ROUTES, Route, Verb};

/// Response schemas, each defined once under its name.
#[derive(Debug, Default)]
pub(super) struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// Registers a schema under a unique name and returns a `$ref` to it.
    fn name(&mut self, mut schema: Map<String, Value>, otherwise: &str) -> Value {
        let title = schema.remove("title");
        let title = title.as_ref().and_then(Value::as_str).unwrap_or(otherwise);
        let sound = |c: &char| c.is_ascii_alphanumeric();
        let plain: String = title.chars().filter(sound).collect();
        let schema = Value::Object(schema);
        let mut name = plain.clone();
        let mut count = 1;
        while self.0.get(&name).is_some_and(|there| *there != schema) {
            count += 1;
            name = format!("{plain}{count}");
        }
        let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
        self.0.insert(name, schema);
        reference
    }

    pub(super) fn into_named(self) -> impl Iterator<Item = (String, Value)> {
        self.0.into_iter()
    }
}

/// Builds the operation of a route. Returns `None` if its tool does not exist.
pub(super) fn of(route: &'static Route, schemas: &mut Schemas) -> Option<Value> {
    let tool = Tool::find(route.tool).ok()?;
    let changes = !route.looks && tool.access() == Access::Write;
    let mut input = (tool.input)();
    response::hide(&mut input, route.hidden);
    schema_narrowing::narrow(tool, &mut input);
    let mut operation = json!({
        "operationId": route.id(),
        "summary": route.about.unwrap_or(tool.about),
        "tags": [tool.area.as_str()],
    });
    let all = operation.as_object_mut()?;
    let parameters = parameters(route, &input);
    if !parameters.is_empty() {
        all.insert("parameters".to_owned(), Value::Array(parameters));
    }
    if let Some(body) = request_body(route, input) {
        all.insert("requestBody".to_owned(), body);
    }
    if let Some(conditions) = conditions(route, changes) {
        all.insert("description".to_owned(), Value::String(conditions));
    }
    let answer = schemas.name((tool.output)(), tool.name);
    all.insert(
        "responses".to_owned(),
        responses(route, tool, changes, answer),
    );
    Some(operation)
}

/// Describes the request headers of conditional and idempotent requests. As text, not as parameters: valid
/// values depend on earlier requests and responses, which OpenAPI cannot express.
fn conditions(route: &Route, changes: bool) -> Option<String> {
    let mut told = Vec::new();
    if changes {
        told.push("`Idempotency-Key: KEY` (1 to 255 visible ASCII characters, new for each request): sent again with the same key, the same request is carried out once and answered alike for a day; another request with that key is refused with 422.");
    }
    if route.matching.is_some() {
        told.push("`If-Match: ETAG`: only if it is still as the answer with this ETag showed it; otherwise 412.");
    }
    if route.method == Verb::Get && route.etag.is_some() {
        told.push("`If-None-Match: ETAG, ...`: only if it is not as the answers with these ETags showed it; otherwise 304.");
    }
    if route.absent.is_some() {
        told.push("`If-None-Match: *`: only if there is nothing yet; otherwise 412.");
    }
    (!told.is_empty()).then(|| told.join(" "))
}

fn parameters(route: &Route, input: &Map<String, Value>) -> Vec<Value> {
    let in_path: Vec<&str> = route.names().map(|(_, name)| name).collect();
    let mut parameters = Vec::new();
    for (name, schema) in properties(input) {
        let place = if in_path.contains(&name.as_str()) {
            "path"
        } else if route.method.has_body() && !route.query.contains(&name.as_str()) {
            continue;
        } else {
            "query"
        };
        parameters.push(parameter(name, schema, place, is_required(input, name)));
    }
    parameters
}

/// Builds a path or query parameter: text, so it cannot be null.
fn parameter(name: &str, schema: &Value, place: &str, required: bool) -> Value {
    let mut schema = schema.clone();
    without_null(&mut schema);
    let about = schema
        .as_object_mut()
        .and_then(|schema| schema.remove("description"));
    let mut parameter = json!({
        "name": name,
        "in": place,
        "required": required || place == "path",
        "schema": schema,
    });
    if let (Some(parameter), Some(about)) = (parameter.as_object_mut(), about) {
        parameter.insert("description".to_owned(), about);
    }
    parameter
}

fn without_null(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [one] = kinds.as_slice() {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
    if let Some(kinds) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(one)] = kinds.as_slice() {
            let one = one.clone();
            schema.remove("anyOf");
            for (name, value) in one {
                schema.entry(name).or_insert(value);
            }
        }
    }
}

fn request_body(route: &Route, mut input: Map<String, Value>) -> Option<Value> {
    if !route.method.has_body() {
        return None;
    }
    let elsewhere: Vec<&str> = route
        .names()
        .map(|(_, name)| name)
        .chain(route.query.iter().copied())
        .collect();
    response::hide(&mut input, &elsewhere);
    properties(&input).next()?;
    for noise in ["title", "description", "$schema"] {
        input.remove(noise);
    }
    let required = input
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|names| !names.is_empty());
    if !required {
        input.remove("required");
    }
    input.insert("additionalProperties".to_owned(), false.into());
    let mut content = json!({ "schema": input });
    if let (Some(content), Some(example)) = (content.as_object_mut(), examples::of(route)) {
        content.insert("example".to_owned(), example);
    }
    Some(json!({ "required": required, "content": { "application/json": content } }))
}

fn responses(route: &Route, tool: &Tool, changes: bool, answer: Value) -> Value {
    let mut headers = Map::new();
    let mut header = |name: &str, shared: &str| {
        headers.insert(name.to_owned(), shared::header(shared));
    };
    header("X-Request-Id", "RequestId");
    if route.etag.is_some() {
        header("ETag", "ETag");
    }
    if route.page.is_some() {
        header("Link", "Link");
    }
    if route.location.is_some() {
        header("Location", "Location");
    }
    if changes {
        header("Idempotency-Replayed", "Replayed");
    }
    let mut good = json!({
        "description": "Done.",
        "headers": headers,
        "content": { "application/json": { "schema": answer } },
    });
    if let (Some(good), Some(links)) = (good.as_object_mut(), links(route)) {
        good.insert("links".to_owned(), links);
    }
    let mut all = Map::new();
    all.insert(route.status.to_string(), good);
    if route.method == Verb::Get && route.etag.is_some() {
        all.insert("304".to_owned(), shared::response("NotModified"));
    }
    for status in problems(route, tool, changes) {
        all.insert(status.to_string(), shared::problem(status));
    }
    Value::Object(all)
}

/// Returns the status codes of possible problems.
fn problems(route: &Route, tool: &Tool, changes: bool) -> Vec<u16> {
    let mut statuses = vec![400, 401, 403, 404, 413, 429, 500, 503];
    if changes {
        statuses.extend([409, 422]);
    }
    if route.method.has_body() {
        statuses.extend([408, 415]);
    }
    if route.matching.is_some() || route.absent.is_some() {
        statuses.push(412);
    }
    match tool.area {
        Area::Boards | Area::Blackboard | Area::Files => statuses.extend([409, 423]),
        Area::Commands => statuses.push(409),
        Area::Tasks
        | Area::Messages
        | Area::Artifacts
        | Area::Agents
        | Area::Society
        | Area::Events
        | Area::Server => {}
    }
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

/// Returns OpenAPI links from a created resource to the operation that reads it.
fn links(route: &Route) -> Option<Value> {
    let (before, field) = route.location?.split_once('{')?;
    let field = field.strip_suffix('}')?;
    let reads = ROUTES.iter().find(|other| {
        let rest = other.path.strip_prefix(before);
        other.method == Verb::Get
            && rest.is_some_and(|rest| rest.starts_with('{') && !rest.contains('/'))
    })?;
    let (_, parameter) = reads.names().next()?;
    Some(json!({
        "read": {
            "operationId": reads.id(),
            "parameters": { parameter: format!("$response.body#/{field}") },
        }
    }))
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|one| one == name))
}
