//! Embedded assets: stylesheets, scripts and the icon are compiled into the program and never fetched from elsewhere.
//!
//! An asset's URL contains the hash of its content, so browsers may cache it indefinitely and never use an old version.

use std::io::Write as _;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use http::{HeaderMap, StatusCode, Uri};
use polis_serve::http::body::takes_gzip;
use sha2::{Digest as _, Sha256};

use crate::minify;
use crate::state::House;

/// Type of an asset; our own stylesheets and scripts are minified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sheet,
    Script,
    /// Served unchanged, with this media type.
    Given(&'static str),
}

/// Name, type and content of the files.
const FILES: [(&str, Kind, &str); 14] = [
    (
        "htmx.min.js",
        Kind::Given("text/javascript"),
        include_str!("../assets/htmx.min.js"),
    ),
    (
        "idiomorph-ext.min.js",
        Kind::Given("text/javascript"),
        include_str!("../assets/idiomorph-ext.min.js"),
    ),
    (
        "icon.svg",
        Kind::Given("image/svg+xml"),
        include_str!("../assets/icon.svg"),
    ),
    ("polis.js", Kind::Script, include_str!("../assets/polis.js")),
    (
        "board-drag.js",
        Kind::Script,
        include_str!("../assets/board-drag.js"),
    ),
    (
        "boards.js",
        Kind::Script,
        include_str!("../assets/boards.js"),
    ),
    (
        "events.js",
        Kind::Script,
        include_str!("../assets/events.js"),
    ),
    (
        "polis.css",
        Kind::Sheet,
        include_str!("../assets/polis.css"),
    ),
    (
        "others.css",
        Kind::Sheet,
        include_str!("../assets/others.css"),
    ),
    (
        "tasks.css",
        Kind::Sheet,
        include_str!("../assets/tasks.css"),
    ),
    (
        "boards.css",
        Kind::Sheet,
        include_str!("../assets/boards.css"),
    ),
    (
        "sides.css",
        Kind::Sheet,
        include_str!("../assets/sides.css"),
    ),
    (
        "agents.css",
        Kind::Sheet,
        include_str!("../assets/agents.css"),
    ),
    (
        "files.css",
        Kind::Sheet,
        include_str!("../assets/files.css"),
    ),
];

struct Asset {
    name: &'static str,
    media: &'static str,
    url: String,
    plain: Bytes,
    packed: Bytes,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| FILES.iter().map(Asset::of).collect());

impl Asset {
    fn of((name, kind, text): &(&'static str, Kind, &'static str)) -> Self {
        let (media, plain) = match kind {
            Kind::Sheet => ("text/css; charset=utf-8", minify::sheet(text).into()),
            Kind::Script => (
                "text/javascript; charset=utf-8",
                minify::script(text).into(),
            ),
            Kind::Given(media) => (*media, Bytes::from_static(text.as_bytes())),
        };
        let hash: String = Sha256::digest(&plain)
            .iter()
            .take(8)
            .map(|b| format!("{b:02x}"))
            .collect();
        let mut pack = GzEncoder::new(Vec::new(), Compression::best());
        // Writing into memory does not fail.
        let packed = pack
            .write_all(&plain)
            .and_then(|()| pack.finish())
            .unwrap_or_default();
        Self {
            name,
            media,
            url: format!("/assets/{hash}/{name}"),
            plain,
            packed: packed.into(),
        }
    }
}

/// Returns the URL of an asset.
pub(crate) fn url(name: &str) -> &'static str {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    found.map_or("", |asset| asset.url.as_str())
}

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new().route("/assets/{hash}/{name}", get(serve))
}

async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    // Another hash is another version: serving this content would be cached under it indefinitely.
    let Some(asset) = ASSETS.iter().find(|asset| asset.url == uri.path()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let told = [
        (CONTENT_TYPE, asset.media),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (VARY, "Accept-Encoding"),
    ];
    if takes_gzip(&headers) && !asset.packed.is_empty() {
        return (told, [(CONTENT_ENCODING, "gzip")], asset.packed.clone()).into_response();
    }
    (told, asset.plain.clone()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use polis_view::Tab;

    use crate::tab;

    #[test]
    fn every_sheet_and_script_of_a_page_is_there() {
        for tab in Tab::ALL {
            for name in tab::sheets(tab).iter().chain(tab::scripts(tab)) {
                assert!(url(name).ends_with(name), "{name}");
            }
        }
    }

    #[test]
    fn our_own_are_written_so_that_they_can_be_made_leaner() {
        for (name, kind, text) in FILES {
            match kind {
                Kind::Script => {
                    for line in text.lines() {
                        let whole = line.matches('`').count() % 2 == 0;
                        assert!(whole && !line.contains("/*"), "{name}: {line}");
                    }
                }
                Kind::Sheet => {
                    let lean = minify::sheet(text);
                    let count = |text: &str, c: char| text.matches(c).count();
                    assert_eq!(count(&lean, '{'), count(&lean, '}'), "{name}");
                    assert!(lean.len() < text.len() && !lean.contains("/*"), "{name}");
                }
                Kind::Given(_) => {}
            }
        }
    }
}
