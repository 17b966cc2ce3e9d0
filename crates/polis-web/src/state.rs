//! Server state shared by all request handlers, and assembly of the router with its middleware.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse as _;
use polis_ops::Polis;
use polis_ops::op::StatsKeeper;
use polis_serve::events::Hub;
use polis_serve::http::{is_page, problem};
use polis_view::Lang;
use tower::ServiceExt as _;

use crate::login_throttle::Guesses;
use crate::{assets, compression, layout, live, login, page, preferences, session};

/// State shared by all request handlers.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) polis: Polis,
    pub(crate) hub: Hub,
    /// Login throttle.
    pub(crate) guesses: Guesses,
    /// Cache of the task statistics.
    pub(crate) stats: StatsKeeper,
    /// Cache of rendered boards.
    pub(crate) shelf: page::boards::Shelf,
}

/// The web pages of a server.
#[derive(Debug)]
pub struct Web {
    house: Arc<House>,
}

impl Web {
    /// Creates the pages; the hub provides change notifications.
    pub fn new(polis: Polis, hub: Hub) -> Self {
        Self {
            house: Arc::new(House {
                polis,
                hub,
                guesses: Guesses::new(),
                stats: StatsKeeper::default(),
                shelf: page::boards::Shelf::default(),
            }),
        }
    }

    /// Adds the pages to a router, with a fallback for all unknown paths.
    pub fn mount(&self, router: Router) -> Router {
        let state = Arc::clone(&self.house);
        // Everything in here needs a session: the session middleware runs before the page handlers.
        let guarded = || from_fn_with_state(Arc::clone(&state), session::guard);
        let inside = Router::new()
            .merge(page::routes())
            .merge(live::routes())
            .merge(login::inside())
            .merge(preferences::routes())
            // The session middleware has already read the form and refused it if it was too large.
            .layer(DefaultBodyLimit::disable())
            .layer(guarded());
        let pages = Router::new()
            .merge(inside)
            .merge(login::outside())
            .layer(from_fn(compression::pack))
            .merge(assets::routes())
            .layer(from_fn(layout::dress))
            .with_state(Arc::clone(&state));
        let nothing = Router::new()
            .fallback(page::nothing)
            .layer(guarded())
            .layer(from_fn(layout::dress))
            .with_state(Arc::clone(&state));
        let nothing = move |request: Request| {
            let nothing = nothing.clone();
            async move {
                if is_page(request.uri().path()) {
                    return nothing.oneshot(request).await.into_response();
                }
                problem::Problem::no_route().answer(0)
            }
        };
        router.merge(pages).fallback(nothing)
    }
}

impl House {
    /// Returns the default language of the installation.
    pub(crate) fn usual(&self) -> Lang {
        self.polis.settings.boards.language.into()
    }
}
