//! Server state shared by all request handlers, and assembly of the route table with the middleware of all
//! pages (compression, security headers). [`WebInterface`] is the entry point of the crate.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use polis_ops::App;
use polis_ops::op::TaskStatsCache;
use polis_serve::events::{Hub, SseSource};
use polis_view::UiLanguage;

use crate::auth::login_throttle::LoginThrottle;
use crate::middleware::{compression, security_headers};
use crate::route_table::{undeclared_path_router, web_router};
use crate::{live_updates, page};

/// State shared by all request handlers.
#[derive(Debug)]
pub(crate) struct WebState {
    pub(crate) app: App,
    pub(crate) hub: Hub,
    /// Source of the event streams of open pages.
    pub(crate) live_source: Arc<SseSource>,
    /// Counts failed sign-in attempts by address.
    pub(crate) login_throttle: LoginThrottle,
    /// Cache of the task statistics.
    pub(crate) stats_cache: TaskStatsCache,
    /// Cache of rendered boards.
    pub(crate) render_cache: page::boards::RenderCache,
}

/// The web pages of a server.
#[derive(Debug)]
pub struct WebInterface {
    state: Arc<WebState>,
}

impl WebInterface {
    /// Creates the pages; the hub provides change notifications.
    pub fn new(app: App, hub: Hub) -> Self {
        Self {
            state: Arc::new(WebState::new(app, hub)),
        }
    }

    /// Adds the pages to a router, with a fallback for all unknown paths: a "not found" page, or a problem
    /// document for paths of the API.
    pub fn mount(&self, router: Router) -> Router {
        let pages = web_router(&self.state)
            .layer(from_fn(compression::compress_html))
            .layer(security_headers::security_headers_layer());
        let undeclared = undeclared_path_router(&self.state);
        router.merge(pages).fallback_service(undeclared)
    }
}

impl WebState {
    pub(crate) fn new(app: App, hub: Hub) -> Self {
        Self {
            live_source: live_updates::live_source(&app, &hub),
            app,
            hub,
            login_throttle: LoginThrottle::new(),
            stats_cache: TaskStatsCache::default(),
            render_cache: page::boards::RenderCache::default(),
        }
    }

    /// Returns the default language of the installation.
    pub(crate) fn default_language(&self) -> UiLanguage {
        self.app.settings.boards.language.into()
    }
}
