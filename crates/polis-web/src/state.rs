//! What all requests share, and how the pages are mounted.

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

/// What all requests share.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) polis: Polis,
    pub(crate) hub: Hub,
    /// Who shows wrong keys at the door.
    pub(crate) guesses: Guesses,
    /// The success figures, folded as far as the log was read.
    pub(crate) stats: StatsKeeper,
    /// Boards as they are shown.
    pub(crate) shelf: page::boards::Shelf,
}

/// The pages of a server.
#[derive(Debug)]
pub struct Web {
    house: Arc<House>,
}

impl Web {
    /// Pages over a ground, told of changes by the hub.
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

    /// Mounts them, and answers for every address that nothing else is at.
    pub fn mount(&self, router: Router) -> Router {
        let state = Arc::clone(&self.house);
        // Everything in here is somebody's: the session is asked for before a page is.
        let guarded = || from_fn_with_state(Arc::clone(&state), session::guard);
        let inside = Router::new()
            .merge(page::routes())
            .merge(live::routes())
            .merge(login::inside())
            .merge(preferences::routes())
            // The guard has read the form already, and says so if it is too large.
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
    /// The language of the installation.
    pub(crate) fn usual(&self) -> Lang {
        self.polis.settings.boards.language.into()
    }
}
