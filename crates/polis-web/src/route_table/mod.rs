//! Route table of the web interface. Every route is declared together with its handler, and the router is
//! built from the table only.
//!
//! A [`WebRoute`] cannot be created without a [`RouteAccess`], and a POST route requires the session's CSRF
//! token unless it is the sign-in. `guard`, the middleware in front of every path, is the only code that
//! checks what the table declares. Handlers are mounted with [`RouteState`], which only this module can
//! create, so that a router built elsewhere cannot serve them. Some handlers have finer rules, which depend
//! on parameters: boards (blackboard files, and views that exist only to change a board) and the overview
//! (a session is sent to the first tab that it may see).

mod declaration;
mod guard;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef, Request};
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse as _;
use axum::routing::{self, MethodRouter};
use polis_serve::http::{is_web_page_path, problem};
use tower::ServiceExt as _;

pub use self::declaration::{CsrfCheck, PageMethod, RouteAccess, RouteDeclaration};
use self::guard::RouteGuard;
use crate::auth::login;
use crate::middleware::security_headers;
use crate::request::preferences;
use crate::state::WebState;
use crate::{assets, live_updates, page};

/// State of the handlers. Only this module creates it: a handler that takes anything from a request cannot be
/// served by a router that was built elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct RouteState(Arc<WebState>);

impl RouteState {
    /// Returns the state shared by all request handlers.
    pub(crate) fn web_state(&self) -> &Arc<WebState> {
        &self.0
    }
}

impl FromRef<RouteState> for Arc<WebState> {
    fn from_ref(state: &RouteState) -> Self {
        Self::clone(&state.0)
    }
}

/// A route: its declaration and its handler.
#[derive(Debug)]
pub(crate) struct WebRoute {
    declaration: RouteDeclaration,
    handler: MethodRouter<RouteState>,
}

impl WebRoute {
    /// Declares a route that reads and changes nothing.
    pub(crate) fn get<H, T>(path: &'static str, access: RouteAccess, handler: H) -> Self
    where
        H: Handler<T, RouteState>,
        T: 'static,
    {
        let declaration = RouteDeclaration {
            method: PageMethod::Get,
            path,
            access,
            csrf: CsrfCheck::NotNeeded,
        };
        Self {
            declaration,
            handler: routing::get(handler),
        }
    }

    /// Declares a route that takes a form with the CSRF token of the session.
    pub(crate) fn post<H, T>(path: &'static str, access: RouteAccess, handler: H) -> Self
    where
        H: Handler<T, RouteState>,
        T: 'static,
    {
        let declaration = RouteDeclaration {
            method: PageMethod::Post,
            path,
            access,
            csrf: CsrfCheck::SessionToken,
        };
        Self {
            declaration,
            handler: routing::post(handler),
        }
    }

    /// Declares the route that starts a session: it needs none, and no CSRF token of one.
    pub(crate) fn post_sign_in<H, T>(path: &'static str, handler: H) -> Self
    where
        H: Handler<T, RouteState>,
        T: 'static,
    {
        let mut route = Self::post(path, RouteAccess::Anonymous, handler);
        route.declaration.csrf = CsrfCheck::SameSite;
        route
    }
}

/// Returns all routes of the web interface.
fn web_routes() -> Vec<WebRoute> {
    let mut routes = page::page_routes();
    routes.extend(live_updates::live_routes());
    routes.extend(login::login_routes());
    routes.extend(preferences::preference_routes());
    routes.extend(assets::asset_routes());
    routes
}

/// Returns the declarations of all routes.
pub fn declared_routes() -> Vec<RouteDeclaration> {
    web_routes()
        .into_iter()
        .map(|route| route.declaration)
        .collect()
}

/// Returns the router of all declared routes.
pub(crate) fn web_router(state: &Arc<WebState>) -> Router {
    guarded_router(web_routes(), state)
}

/// Returns a router of these routes, each path behind its guard.
fn guarded_router(routes: Vec<WebRoute>, state: &Arc<WebState>) -> Router {
    let mut paths: Vec<(
        &'static str,
        Vec<RouteDeclaration>,
        MethodRouter<RouteState>,
    )> = Vec::new();
    for WebRoute {
        declaration,
        handler,
    } in routes
    {
        match paths
            .iter_mut()
            .find(|(path, ..)| *path == declaration.path)
        {
            Some((_, declarations, handlers)) => {
                declarations.push(declaration);
                *handlers = std::mem::take(handlers).merge(handler);
            }
            None => paths.push((declaration.path, vec![declaration], handler)),
        }
    }
    let mut router = Router::new();
    for (path, declarations, mut handlers) in paths {
        if declarations.iter().all(|one| one.access.needs_session()) {
            // The CSRF check has already read the form and refused it if it was too large.
            handlers = handlers.layer(DefaultBodyLimit::disable());
        }
        let guard = RouteGuard::new(state, declarations);
        let guarded = handlers.layer(from_fn_with_state(guard, guard::check_declaration));
        router = router.route(path, guarded);
    }
    router.with_state(RouteState(Arc::clone(state)))
}

/// Returns the service for paths that no route declares: a "not found" page, or a problem document for paths
/// of the API.
pub(crate) fn undeclared_path_router(state: &Arc<WebState>) -> Router {
    let guard = RouteGuard::new(state, Vec::new());
    let not_found = Router::new()
        .fallback(page::page_not_found)
        .layer(from_fn_with_state(guard, guard::check_undeclared_path))
        .layer(security_headers::security_headers_layer())
        .with_state(RouteState(Arc::clone(state)));
    let answer = move |request: Request| {
        let not_found = not_found.clone();
        async move {
            if is_web_page_path(request.uri().path()) {
                return not_found.oneshot(request).await.into_response();
            }
            problem::HttpProblem::route_not_found().to_response(0)
        }
    };
    Router::new().fallback(answer)
}
