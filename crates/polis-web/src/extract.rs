//! Request extractors for path, query and form.
//!
//! They parse like axum's own, but a rejection is rendered like every other error: as a page or a notice in the
//! reader's language instead of a line of plain text.

use axum::extract::{self, FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::request::Parts;
use polis_core::{Code, Refusal};
use serde::de::DeserializeOwned;

use crate::error_page::Refused;
use crate::page::nothing;
use crate::request_context::Visit;

/// Path parameters. If they cannot be parsed, the response is "not found".
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

/// Query string parameters.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

/// Form fields.
#[derive(Debug)]
pub(crate) struct Form<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let read = extract::Path::<T>::from_request_parts(parts, state).await;
        match (read, parts.extensions.get::<Visit>()) {
            (Ok(read), _) => Ok(Self(read.0)),
            (Err(_), Some(visit)) => Err(nothing(visit.clone()).await.into_response()),
            (Err(_), None) => Err(StatusCode::NOT_FOUND.into_response()),
        }
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let visit = parts.extensions.get::<Visit>().cloned();
        match extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(read) => Ok(Self(read.0)),
            Err(_) => Err(unreadable(visit.as_ref())),
        }
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Form<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let visit = request.extensions().get::<Visit>().cloned();
        match extract::Form::<T>::from_request(request, state).await {
            Ok(read) => Ok(Self(read.0)),
            Err(_) => Err(unreadable(visit.as_ref())),
        }
    }
}

fn unreadable(visit: Option<&Visit>) -> Response {
    let Some(visit) = visit else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let refusal = Refusal::new(
        Code::InvalidInput,
        visit.say(
            "Something in the address or in the form cannot be read, such as a word where a number belongs.",
            "地址或表单中有无法识别的内容，例如应为数字处写了文字。",
        ),
        visit.say(
            "go back, load the page again and repeat it there",
            "请返回并重新载入页面后再试",
        ),
    );
    Refused::of(visit, refusal.into()).into_response()
}
