//! Builds HTTP responses from tool results, new or replayed (repeated idempotency key): JSON body, ETag and
//! 304, gzip, `Location`, and the `Link` header to the next page. Refusals are built by `problem`.
//!
//! [`remove_schema_params`] removes a route's hidden parameters from an input schema.

use axum::body::Body;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LINK, LOCATION, VARY,
};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use polis_ops::{OpError, PortError};
use serde_json::{Map, Value};

use super::problem::{self, HttpProblem};
use super::request::{body, etag, url_encoding};
use super::route::{ApiRoute, EtagSource, RouteMethod};
use super::server_state::ServerState;

/// Initial buffer capacity in bytes; most responses fit.
const INITIAL_BUFFER_BYTES: usize = 512;
/// Response header that marks a replayed response of an earlier request with the same idempotency key.
pub(crate) const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Result of a tool call, with the request that made it.
#[derive(Debug)]
pub(crate) struct HttpToolResult<'a> {
    pub(crate) route: &'static ApiRoute,
    pub(crate) parts: &'a Parts,
    pub(crate) document: Value,
    pub(crate) replayed: bool,
    /// Whether the request was conditional (`If-Match` or `If-None-Match: *`).
    pub(crate) conditional: bool,
}

/// Builds the response to a successful tool call, or to a replayed one.
pub(crate) async fn tool_response(
    result: HttpToolResult<'_>,
) -> Result<Response<Body>, HttpProblem> {
    if result.replayed
        && let Some(refused) =
            problem::problem_from_stored_document(&result.document, result.conditional)
    {
        return Ok(mark_replayed(refused));
    }
    let tag = result
        .route
        .etag_source
        .and_then(|etag| document_etag(etag, &result.document));
    if let Some(tag) = &tag
        && result.route.method == RouteMethod::Get
        && is_not_modified(result.parts, tag)
    {
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        set_etag_headers(&mut answer, tag, false);
        return Ok(answer);
    }
    // Most responses fit without reallocating.
    let mut bytes = Vec::with_capacity(INITIAL_BUFFER_BYTES);
    serde_json::to_writer(&mut bytes, &result.document).map_err(|error| {
        HttpProblem::from(OpError::from(PortError::internal(
            "Writing the response",
            error,
        )))
    })?;
    let bytes = Bytes::from(bytes);
    let compressed = if body::accepts_gzip(&result.parts.headers) {
        body::compress_gzip(&bytes).await
    } else {
        None
    };
    let gzip = compressed.is_some();
    let mut answer = Response::new(Body::from(compressed.unwrap_or(bytes)));
    *answer.status_mut() = StatusCode::from_u16(result.route.status).unwrap_or(StatusCode::OK);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Some(location) = location_header(result.route, &result.document) {
        headers.insert(LOCATION, location);
    }
    if let Some(link) = next_page_link(result.route, result.parts, &result.document) {
        headers.insert(LINK, link);
    }
    match &tag {
        Some(tag) => set_etag_headers(&mut answer, tag, gzip),
        None => {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
    }
    Ok(if result.replayed {
        mark_replayed(answer)
    } else {
        answer
    })
}

/// Builds the response to a refused or failed request.
pub(crate) fn problem_response(state: &ServerState, problem: &HttpProblem) -> Response<Body> {
    problem.to_response(state.app.clock.now_millis())
}

/// Removes parameters from an input schema: those that a route hides or takes from elsewhere.
pub(crate) fn remove_schema_params(schema: &mut Map<String, Value>, names: &[&str]) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !names.contains(&name.as_str()));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name.as_str().is_none_or(|name| !names.contains(&name)));
    }
}

fn mark_replayed(mut answer: Response<Body>) -> Response<Body> {
    let headers = answer.headers_mut();
    headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    answer
}

fn set_etag_headers(answer: &mut Response<Body>, tag: &str, gzip: bool) {
    let headers = answer.headers_mut();
    if let Ok(value) = HeaderValue::try_from(etag::etag_header_value(tag, gzip)) {
        headers.insert(ETAG, value);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(
        VARY,
        HeaderValue::from_static("Authorization, Accept-Encoding"),
    );
}

/// Returns the ETag of a response. Returns `None` if the field is missing; a part of a file, for example, has
/// no hash.
fn document_etag(etag: EtagSource, document: &Value) -> Option<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(switch) => Some(switch.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let version = text(document.get(etag.version_field)?)?;
    let extra: Vec<String> = etag
        .extra_fields
        .iter()
        .filter_map(|field| text(document.get(field)?))
        .collect();
    let extra: Vec<&str> = extra.iter().map(String::as_str).collect();
    Some(etag::format_etag(&version, &extra))
}

/// Returns whether the client already has this version (`If-None-Match`).
fn is_not_modified(parts: &Parts, tag: &str) -> bool {
    let mut headers = parts.headers.get_all(IF_NONE_MATCH).iter();
    headers.any(|header| {
        let tags = header.to_str().ok().and_then(etag::parse_etag_condition);
        tags.is_some_and(|tags| etag::matches_weakly(&tags, tag))
    })
}

/// Returns the `Location` of a created resource.
fn location_header(route: &ApiRoute, document: &Value) -> Option<HeaderValue> {
    let (before, rest) = route.location_template?.split_once('{')?;
    let field = document.get(rest.strip_suffix('}')?)?.as_str()?;
    let field = percent_encoding::utf8_percent_encode(field, percent_encoding::NON_ALPHANUMERIC);
    HeaderValue::try_from(format!("{before}{field}")).ok()
}

/// Query parameter of lists that are paginated backwards.
const BACKWARD_PAGE_PARAM: &str = "before";

/// Returns the `Link` header to the next page.
fn next_page_link(route: &ApiRoute, parts: &Parts, document: &Value) -> Option<HeaderValue> {
    let original_query = parts.uri.query().unwrap_or_default();
    // A list that is paginated backwards continues backwards.
    let backwards = url_encoding::parse_query_pairs(original_query)
        .any(|pair| pair.is_ok_and(|(name, _)| name == BACKWARD_PAGE_PARAM));
    let parameter = if backwards {
        BACKWARD_PAGE_PARAM
    } else {
        route.page_param?
    };
    let next = match document.get("next")? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let query = url_encoding::replace_query_param(original_query, parameter, &next);
    let link = format!("<{}?{query}>; rel=\"next\"", parts.uri.path());
    HeaderValue::try_from(link).ok()
}
