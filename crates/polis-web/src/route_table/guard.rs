//! Guard of a path: the middleware that checks session, scopes and CSRF as the matched route declares them,
//! before its handler runs.
//!
//! A method that the path does not declare never reaches a handler. Unless the path is public, it needs a
//! session with write access to the areas of the path and, except for GET and HEAD, the CSRF token. A path
//! that no route declares needs a session, so that only its owner learns which paths exist.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::ALLOW;
use http::{Method, StatusCode};
use polis_core::Refusal;
use polis_serve::CallerIdentity;

use super::declaration::{CsrfCheck, PageMethod, RouteAccess, RouteDeclaration};
use crate::auth::csrf::{check_same_site, verify_csrf};
use crate::auth::{login, session};
use crate::error_page::{self, PageError};
use crate::request::preferences::Preferences;
use crate::request::request_context::is_htmx_request;
use crate::state::WebState;

/// The declarations of a path, one per method.
#[derive(Debug, Clone)]
pub(super) struct RouteGuard {
    state: Arc<WebState>,
    declarations: Arc<[RouteDeclaration]>,
}

impl RouteGuard {
    pub(super) fn new(state: &Arc<WebState>, declarations: Vec<RouteDeclaration>) -> Self {
        Self {
            state: Arc::clone(state),
            declarations: declarations.into(),
        }
    }

    /// Returns what a request of this method has to fulfil.
    fn requirements(&self, method: &Method) -> RouteRequirements {
        let served = PageMethod::for_request(method);
        let declared = self
            .declarations
            .iter()
            .find(|one| Some(one.method) == served);
        match declared {
            Some(declared) => RouteRequirements {
                access: declared.access,
                csrf: declared.csrf,
                is_declared: true,
            },
            None => RouteRequirements::undeclared(&self.declarations, served),
        }
    }

    /// Returns the request, with its [`RequestContext`](crate::request::request_context::RequestContext) if it needs a
    /// session. Fails with the response to send if it does not fulfil the requirements.
    async fn check_requirements(
        &self,
        requirements: RouteRequirements,
        request: Request,
    ) -> Result<Request, Box<Response>> {
        let preferences =
            Preferences::from_headers(request.headers(), self.state.default_language());
        if !requirements.access.needs_session() {
            return match requirements.csrf {
                CsrfCheck::NotNeeded => Ok(request),
                // Without a session no CSRF token is valid.
                CsrfCheck::SessionToken => Err(StatusCode::FORBIDDEN.into_response().into()),
                CsrfCheck::SameSite => match check_same_site(request.headers()) {
                    Ok(()) => Ok(request),
                    Err(refusal) => {
                        Err(login::refused_login_page(preferences, &refusal.into()).into())
                    }
                },
            };
        }
        let (parts, body) = request.into_parts();
        let context = match session::authenticate_session(&self.state, &parts, preferences).await {
            Ok(Some(context)) => context,
            Ok(None) => {
                let is_fragment = is_htmx_request(&parts.headers);
                return Err(session::redirect_to_login(is_fragment, &parts.method).into());
            }
            Err(error) => return Err(error_page::signed_out_error_page(preferences, &error).into()),
        };
        let request = Request::from_parts(parts, body);
        let refuse =
            |refusal: Refusal| Box::new(PageError::new(&context, refusal.into()).into_response());
        self.check_scopes(requirements, &context.identity)
            .map_err(refuse)?;
        let mut request = match requirements.csrf {
            CsrfCheck::NotNeeded => request,
            CsrfCheck::SameSite => {
                check_same_site(request.headers()).map_err(refuse)?;
                request
            }
            CsrfCheck::SessionToken => verify_csrf(request, &context.csrf).await.map_err(refuse)?,
        };
        request.extensions_mut().insert(context);
        Ok(request)
    }

    /// Fails with `InsufficientScope` if the scopes of a session do not include what the request needs. A method
    /// without a route needs those of a change.
    fn check_scopes(
        &self,
        requirements: RouteRequirements,
        identity: &CallerIdentity,
    ) -> Result<(), Refusal> {
        if requirements.is_declared {
            return requirements.access.check_scopes(identity);
        }
        self.declarations
            .iter()
            .try_for_each(|one| one.access.check_write_scopes(identity))
    }

    /// Returns the response to a request whose method the path does not declare.
    fn method_not_allowed(&self) -> Response {
        let allowed: Vec<&str> = self
            .declarations
            .iter()
            .map(|one| one.method.allowed_methods())
            .collect();
        (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, allowed.join(","))]).into_response()
    }
}

/// What a request has to fulfil.
#[derive(Debug, Clone, Copy)]
struct RouteRequirements {
    access: RouteAccess,
    csrf: CsrfCheck,
    /// Whether a route declares path and method. Otherwise no handler may run.
    is_declared: bool,
}

impl RouteRequirements {
    /// Returns the requirements of a path or method without a route: a session, so that only its owner learns
    /// which paths exist, and its CSRF token for everything except GET. Paths without a session are public
    /// anyway.
    fn undeclared(declarations: &[RouteDeclaration], served: Option<PageMethod>) -> Self {
        let is_public =
            !declarations.is_empty() && declarations.iter().all(|one| !one.access.needs_session());
        Self {
            access: if is_public {
                RouteAccess::Anonymous
            } else {
                RouteAccess::AnySession
            },
            csrf: if is_public || served == Some(PageMethod::Get) {
                CsrfCheck::NotNeeded
            } else {
                CsrfCheck::SessionToken
            },
            is_declared: false,
        }
    }
}

/// Middleware of a declared path. Runs the handler if the request fulfils what its route declares.
pub(super) async fn check_declaration(
    State(guard): State<RouteGuard>,
    request: Request,
    next: Next,
) -> Response {
    let requirements = guard.requirements(request.method());
    match guard.check_requirements(requirements, request).await {
        Ok(request) if requirements.is_declared => next.run(request).await,
        Ok(_) => guard.method_not_allowed(),
        Err(refused) => *refused,
    }
}

/// Middleware of all paths that no route declares; `next` renders the "not found" page.
pub(super) async fn check_undeclared_path(
    State(guard): State<RouteGuard>,
    request: Request,
    next: Next,
) -> Response {
    let requirements = guard.requirements(request.method());
    match guard.check_requirements(requirements, request).await {
        Ok(request) => next.run(request).await,
        Err(refused) => *refused,
    }
}
