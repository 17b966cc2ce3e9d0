//! Builds the OpenAPI operation of a route: parameters, request body, responses and links.

use std::collections::BTreeMap;

use polis_core::token::{AccessLevel, OperationArea};
use polis_i18n::UiLanguage;
use polis_ops::tool::Tool;
use serde_json::{Map, Value, json};

use super::{components, examples, schema_constraints};
use crate::http::response;
use crate::http::route::{ApiRoute, ROUTES, RouteMethod};

/// Response schemas, each defined once under its name.
#[derive(Debug, Default)]
pub(super) struct ResponseSchemas(BTreeMap<String, Value>);

impl ResponseSchemas {
    /// Registers a schema under a unique name and returns a `$ref` to it.
    fn register(&mut self, mut schema: Map<String, Value>, fallback: &str) -> Value {
        let title = schema.remove("title");
        let title = title.as_ref().and_then(Value::as_str).unwrap_or(fallback);
        let is_allowed = |c: &char| c.is_ascii_alphanumeric();
        let base: String = title.chars().filter(is_allowed).collect();
        let schema = Value::Object(schema);
        let mut name = base.clone();
        let mut count = 1;
        while self
            .0
            .get(&name)
            .is_some_and(|existing| *existing != schema)
        {
            count += 1;
            name = format!("{base}{count}");
        }
        let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
        self.0.insert(name, schema);
        reference
    }

    pub(super) fn into_components(self) -> impl Iterator<Item = (String, Value)> {
        self.0.into_iter()
    }
}

/// Builds the operation of a route. Returns `None` if its tool does not exist.
pub(super) fn build_operation(
    route: &'static ApiRoute,
    schemas: &mut ResponseSchemas,
) -> Option<Value> {
    let tool = Tool::find(route.tool).ok()?;
    let changes = !route.is_read_only && tool.required_access() == AccessLevel::Write;
    let mut input = (tool.input_schema)();
    response::remove_schema_params(&mut input, route.hidden_params);
    schema_constraints::add_parameter_constraints(tool, &mut input);
    let mut operation = json!({
        "operationId": route.operation_id(),
        "summary": route.summary.unwrap_or(tool.description(UiLanguage::En)),
        "tags": [tool.area.as_str()],
    });
    let all = operation.as_object_mut()?;
    let parameters = build_parameters(route, &input);
    if !parameters.is_empty() {
        all.insert("parameters".to_owned(), Value::Array(parameters));
    }
    if let Some(body) = build_request_body(route, input) {
        all.insert("requestBody".to_owned(), body);
    }
    if let Some(conditions) = describe_conditional_headers(route, changes) {
        all.insert("description".to_owned(), Value::String(conditions));
    }
    let answer = schemas.register((tool.output_schema)(), tool.name);
    all.insert(
        "responses".to_owned(),
        build_responses(route, tool, changes, answer),
    );
    Some(operation)
}

/// Describes the request headers of conditional and idempotent requests. As text, not as parameters: valid
/// values depend on earlier requests and responses, which OpenAPI cannot express.
fn describe_conditional_headers(route: &ApiRoute, changes: bool) -> Option<String> {
    let mut sentences = Vec::new();
    if changes {
        sentences.push("`Idempotency-Key: KEY` (1 to 255 visible ASCII characters, unique per request): a retry with the same key within a day returns the stored response; a different request with that key is refused with 422.");
    }
    if route.if_match_param.is_some() {
        sentences.push("`If-Match: ETAG`: carried out only if the resource still has this ETag; otherwise 412.");
    }
    if route.method == RouteMethod::Get && route.etag_source.is_some() {
        sentences.push(
            "`If-None-Match: ETAG, ...`: returns 304 if the resource still has one of these ETags.",
        );
    }
    if route.if_none_match_param.is_some() {
        sentences.push("`If-None-Match: *`: carried out only if the resource does not exist yet; otherwise 412.");
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn build_parameters(route: &ApiRoute, input: &Map<String, Value>) -> Vec<Value> {
    let in_path: Vec<&str> = route.path_params().map(|(_, name)| name).collect();
    let mut parameters = Vec::new();
    for (name, schema) in schema_properties(input) {
        let location = if in_path.contains(&name.as_str()) {
            "path"
        } else if route.method.has_body() && !route.query_params.contains(&name.as_str()) {
            continue;
        } else {
            "query"
        };
        parameters.push(build_parameter(
            name,
            schema,
            location,
            is_required_param(input, name),
        ));
    }
    parameters
}

/// Builds a path or query parameter: text, so it cannot be null.
fn build_parameter(name: &str, schema: &Value, location: &str, required: bool) -> Value {
    let mut schema = schema.clone();
    remove_null_type(&mut schema);
    let description = schema
        .as_object_mut()
        .and_then(|schema| schema.remove("description"));
    let mut parameter = json!({
        "name": name,
        "in": location,
        "required": required || location == "path",
        "schema": schema,
    });
    if let (Some(parameter), Some(description)) = (parameter.as_object_mut(), description) {
        parameter.insert("description".to_owned(), description);
    }
    parameter
}

fn remove_null_type(schema: &mut Value) {
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

fn build_request_body(route: &ApiRoute, mut input: Map<String, Value>) -> Option<Value> {
    if !route.method.has_body() {
        return None;
    }
    let url_params: Vec<&str> = route
        .path_params()
        .map(|(_, name)| name)
        .chain(route.query_params.iter().copied())
        .collect();
    response::remove_schema_params(&mut input, &url_params);
    schema_properties(&input).next()?;
    for key in ["title", "description", "$schema"] {
        input.remove(key);
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
    if let (Some(content), Some(example)) =
        (content.as_object_mut(), examples::request_example(route))
    {
        content.insert("example".to_owned(), example);
    }
    Some(json!({ "required": required, "content": { "application/json": content } }))
}

fn build_responses(route: &ApiRoute, tool: &Tool, changes: bool, answer: Value) -> Value {
    let mut headers = Map::new();
    let mut header = |name: &str, shared: &str| {
        headers.insert(name.to_owned(), components::header_ref(shared));
    };
    header("X-Request-Id", "RequestId");
    if route.etag_source.is_some() {
        header("ETag", "ETag");
    }
    if route.page_param.is_some() {
        header("Link", "Link");
    }
    if route.location_template.is_some() {
        header("Location", "Location");
    }
    if changes {
        header("Idempotency-Replayed", "Replayed");
    }
    let mut success = json!({
        "description": "Success.",
        "headers": headers,
        "content": { "application/json": { "schema": answer } },
    });
    if let (Some(success), Some(links)) = (success.as_object_mut(), build_links(route)) {
        success.insert("links".to_owned(), links);
    }
    let mut all = Map::new();
    all.insert(route.status.to_string(), success);
    if route.method == RouteMethod::Get && route.etag_source.is_some() {
        all.insert("304".to_owned(), components::response_ref("NotModified"));
    }
    for status in problem_statuses(route, tool, changes) {
        all.insert(status.to_string(), components::problem_response_ref(status));
    }
    Value::Object(all)
}

/// Returns the status codes of possible problems.
fn problem_statuses(route: &ApiRoute, tool: &Tool, changes: bool) -> Vec<u16> {
    let mut statuses = vec![400, 401, 403, 404, 413, 429, 500, 503];
    if changes {
        statuses.extend([409, 422]);
    }
    if route.method.has_body() {
        statuses.extend([408, 415]);
    }
    if route.if_match_param.is_some() || route.if_none_match_param.is_some() {
        statuses.push(412);
    }
    match tool.area {
        OperationArea::Boards | OperationArea::Blackboard | OperationArea::Files => {
            statuses.extend([409, 423]);
        }
        OperationArea::Commands => statuses.push(409),
        OperationArea::Tasks
        | OperationArea::Messages
        | OperationArea::Artifacts
        | OperationArea::Agents
        | OperationArea::Society
        | OperationArea::Events
        | OperationArea::Server => {}
    }
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

/// Returns OpenAPI links from a created resource to the operation that reads it.
fn build_links(route: &ApiRoute) -> Option<Value> {
    let (before, field) = route.location_template?.split_once('{')?;
    let field = field.strip_suffix('}')?;
    let reads = ROUTES.iter().find(|other| {
        let rest = other.path.strip_prefix(before);
        other.method == RouteMethod::Get
            && rest.is_some_and(|rest| rest.starts_with('{') && !rest.contains('/'))
    })?;
    let (_, parameter) = reads.path_params().next()?;
    Some(json!({
        "read": {
            "operationId": reads.operation_id(),
            "parameters": { parameter: format!("$response.body#/{field}") },
        }
    }))
}

fn schema_properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}

fn is_required_param(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|one| one == name))
}
