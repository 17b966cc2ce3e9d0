//! Request extractors for path parameters, query string and form fields.
//!
//! They parse like axum's own, but a rejection is rendered like every other error: as a page or a notice in
//! the reader's language instead of a line of plain text. Invalid path parameters give "not found".

use axum::extract::{self, FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::request::Parts;
use polis_core::Refusal;
use serde::de::DeserializeOwned;

use crate::error_page::PageError;
use crate::page::page_not_found;
use crate::refusal_tables::PageRefusal;
use crate::request::request_context::RequestContext;
use crate::route_table::RouteState;

/// Path parameters. If they cannot be parsed, the response is "not found".
#[derive(Debug)]
pub(crate) struct PathParams<T>(pub(crate) T);

/// Query string parameters. If they cannot be parsed, the response is an `invalid_input` error page.
#[derive(Debug)]
pub(crate) struct QueryParams<T>(pub(crate) T);

/// Form fields of a POST request. If they cannot be parsed, the response is an `invalid_input` error page.
#[derive(Debug)]
pub(crate) struct FormFields<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<RouteState> for PathParams<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &RouteState) -> Result<Self, Response> {
        let read = extract::Path::<T>::from_request_parts(parts, state).await;
        match (read, parts.extensions.get::<RequestContext>()) {
            (Ok(read), _) => Ok(Self(read.0)),
            (Err(_), Some(context)) => Err(page_not_found(context.clone()).await.into_response()),
            (Err(_), None) => Err(StatusCode::NOT_FOUND.into_response()),
        }
    }
}

impl<T: DeserializeOwned> FromRequestParts<RouteState> for QueryParams<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &RouteState) -> Result<Self, Response> {
        let context = parts.extensions.get::<RequestContext>().cloned();
        match extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(read) => Ok(Self(read.0)),
            Err(_) => Err(rejection_response(context.as_ref())),
        }
    }
}

impl<T: DeserializeOwned> FromRequest<RouteState> for FormFields<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &RouteState) -> Result<Self, Response> {
        let context = request.extensions().get::<RequestContext>().cloned();
        match extract::Form::<T>::from_request(request, state).await {
            Ok(read) => Ok(Self(read.0)),
            Err(_) => Err(rejection_response(context.as_ref())),
        }
    }
}

fn rejection_response(context: Option<&RequestContext>) -> Response {
    let Some(context) = context else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let refusal = Refusal::from(PageRefusal::InvalidValue);
    PageError::new(context, refusal.into()).into_response()
}
