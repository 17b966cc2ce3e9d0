//! Builds HTTP responses from tool results: JSON body, ETag and 304, gzip, `Location`, and the `Link` header
//! of paginated lists. Refusals become `application/problem+json`.

use axum::body::Body;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LINK, LOCATION, VARY,
};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use polis_ops::{OpError, PortError};
use serde_json::{Map, Value};

use super::problem::{self, Problem};
use super::route::{Etag, Route, Verb};
use super::server_state::Ground;
use super::{body, etag, path_encoding};

/// Initial buffer capacity in bytes; most responses fit.
const USUAL: usize = 512;
/// Response header that marks a replayed response of an earlier request with the same idempotency key.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Result of a tool call, with the request it answers.
#[derive(Debug)]
pub(crate) struct Said<'a> {
    pub(crate) route: &'static Route,
    pub(crate) parts: &'a Parts,
    pub(crate) document: Value,
    pub(crate) replayed: bool,
    /// Whether the request was conditional (`If-Match` or `If-None-Match: *`).
    pub(crate) conditional: bool,
}

/// Builds the response to a successful tool call, or to a replayed one.
pub(crate) async fn given(said: Said<'_>) -> Result<Response<Body>, Problem> {
    if said.replayed
        && let Some(refused) = problem::of_document(&said.document, said.conditional)
    {
        return Ok(replayed(refused));
    }
    let tag = said.route.etag.and_then(|etag| tag(etag, &said.document));
    if let Some(tag) = &tag
        && said.route.method == Verb::Get
        && has_it(said.parts, tag)
    {
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        tagged(&mut answer, tag, false);
        return Ok(answer);
    }
    // Most responses fit without reallocating.
    let mut bytes = Vec::with_capacity(USUAL);
    serde_json::to_writer(&mut bytes, &said.document).map_err(|error| {
        Problem::from(OpError::from(PortError::internal(
            "Writing the answer",
            error,
        )))
    })?;
    let bytes = Bytes::from(bytes);
    let packed = if body::takes_gzip(&said.parts.headers) {
        body::gzip(&bytes).await
    } else {
        None
    };
    let gzip = packed.is_some();
    let mut answer = Response::new(Body::from(packed.unwrap_or(bytes)));
    *answer.status_mut() = StatusCode::from_u16(said.route.status).unwrap_or(StatusCode::OK);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Some(location) = location(said.route, &said.document) {
        headers.insert(LOCATION, location);
    }
    if let Some(link) = next_page(said.route, said.parts, &said.document) {
        headers.insert(LINK, link);
    }
    match &tag {
        Some(tag) => tagged(&mut answer, tag, gzip),
        None => {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
    }
    Ok(if said.replayed {
        replayed(answer)
    } else {
        answer
    })
}

/// Builds the response to a refused or failed request.
pub(crate) fn refused(ground: &Ground, problem: &Problem) -> Response<Body> {
    problem.answer(ground.polis.clock.now_millis())
}

/// Removes parameters from a schema.
pub(crate) fn hide(schema: &mut Map<String, Value>, names: &[&str]) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !names.contains(&name.as_str()));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name.as_str().is_none_or(|name| !names.contains(&name)));
    }
}

fn replayed(mut answer: Response<Body>) -> Response<Body> {
    let headers = answer.headers_mut();
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    answer
}

fn tagged(answer: &mut Response<Body>, tag: &str, gzip: bool) {
    let headers = answer.headers_mut();
    if let Ok(value) = HeaderValue::try_from(etag::header(tag, gzip)) {
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
fn tag(etag: Etag, document: &Value) -> Option<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(switch) => Some(switch.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let version = text(document.get(etag.field)?)?;
    let aside: Vec<String> = etag
        .aside
        .iter()
        .filter_map(|field| text(document.get(field)?))
        .collect();
    let aside: Vec<&str> = aside.iter().map(String::as_str).collect();
    Some(etag::tag(&version, &aside))
}

/// Returns whether the client already has this version (`If-None-Match`).
fn has_it(parts: &Parts, tag: &str) -> bool {
    let mut headers = parts.headers.get_all(IF_NONE_MATCH).iter();
    headers.any(|header| {
        let tags = header.to_str().ok().and_then(etag::parse);
        tags.is_some_and(|tags| etag::has(&tags, tag))
    })
}

/// Returns the `Location` of a created resource.
fn location(route: &Route, document: &Value) -> Option<HeaderValue> {
    let (before, rest) = route.location?.split_once('{')?;
    let field = document.get(rest.strip_suffix('}')?)?.as_str()?;
    let field = percent_encoding::utf8_percent_encode(field, percent_encoding::NON_ALPHANUMERIC);
    HeaderValue::try_from(format!("{before}{field}")).ok()
}

/// Query parameter of lists that are paginated backwards.
const BACKWARDS: &str = "before";

/// Returns the `Link` header to the next page.
fn next_page(route: &Route, parts: &Parts, document: &Value) -> Option<HeaderValue> {
    let asked = parts.uri.query().unwrap_or_default();
    // A list that is paginated backwards continues backwards.
    let backwards =
        path_encoding::pairs(asked).any(|pair| pair.is_ok_and(|(name, _)| name == BACKWARDS));
    let parameter = match backwards {
        true => BACKWARDS,
        false => route.page?,
    };
    let next = match document.get("next")? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let query = path_encoding::with(asked, parameter, &next);
    let link = format!("<{}?{query}>; rel=\"next\"", parts.uri.path());
    HeaderValue::try_from(link).ok()
}
