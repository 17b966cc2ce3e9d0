//! Embedding of assets: stylesheets, scripts and the icon are compiled into the program and never fetched
//! from elsewhere.
//!
//! An asset's URL contains the hash of its content, so browsers may cache it indefinitely and never use an
//! old version.

use std::io::Write as _;
use std::sync::LazyLock;

use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use http::{HeaderMap, StatusCode, Uri};
use polis_serve::http::body::accepts_gzip;
use sha2::{Digest as _, Sha256};

use crate::route_table::{RouteAccess, WebRoute};

/// Media type of our stylesheets.
const CSS: &str = "text/css; charset=utf-8";
/// Media type of our scripts.
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Name, media type and content of the files. They are served as they are in the repository; gzip does what a
/// minifier would.
const ASSET_FILES: [(&str, &str, &str); 14] = [
    (
        "htmx.min.js",
        "text/javascript",
        include_str!("../assets/htmx.min.js"),
    ),
    (
        "idiomorph-ext.min.js",
        "text/javascript",
        include_str!("../assets/idiomorph-ext.min.js"),
    ),
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("../assets/icon.svg"),
    ),
    ("polis.js", JAVASCRIPT, include_str!("../assets/polis.js")),
    (
        "board-drag.js",
        JAVASCRIPT,
        include_str!("../assets/board-drag.js"),
    ),
    ("boards.js", JAVASCRIPT, include_str!("../assets/boards.js")),
    ("events.js", JAVASCRIPT, include_str!("../assets/events.js")),
    ("polis.css", CSS, include_str!("../assets/polis.css")),
    ("others.css", CSS, include_str!("../assets/others.css")),
    ("tasks.css", CSS, include_str!("../assets/tasks.css")),
    ("boards.css", CSS, include_str!("../assets/boards.css")),
    ("sides.css", CSS, include_str!("../assets/sides.css")),
    ("agents.css", CSS, include_str!("../assets/agents.css")),
    ("files.css", CSS, include_str!("../assets/files.css")),
];

struct EmbeddedAsset {
    name: &'static str,
    media_type: &'static str,
    url: String,
    plain: Bytes,
    gzipped: Bytes,
}

static ASSETS: LazyLock<Vec<EmbeddedAsset>> =
    LazyLock::new(|| ASSET_FILES.iter().map(EmbeddedAsset::from_file).collect());

impl EmbeddedAsset {
    fn from_file((name, media_type, text): &(&'static str, &'static str, &'static str)) -> Self {
        let plain = Bytes::from_static(text.as_bytes());
        let hash: String = Sha256::digest(&plain)
            .iter()
            .take(8)
            .map(|b| format!("{b:02x}"))
            .collect();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Writing into memory does not fail.
        let gzipped = encoder
            .write_all(&plain)
            .and_then(|()| encoder.finish())
            .unwrap_or_default();
        Self {
            name,
            media_type,
            url: format!("/assets/{hash}/{name}"),
            plain,
            gzipped: gzipped.into(),
        }
    }
}

/// Returns the URL of an asset.
pub(crate) fn asset_url(name: &str) -> &'static str {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    found.map_or("", |asset| asset.url.as_str())
}

pub(crate) fn asset_routes() -> Vec<WebRoute> {
    vec![WebRoute::get(
        "/assets/{hash}/{name}",
        RouteAccess::Anonymous,
        serve_asset,
    )]
}

async fn serve_asset(uri: Uri, headers: HeaderMap) -> Response {
    // Another hash is another version: serving this content would be cached under it indefinitely.
    let Some(asset) = ASSETS.iter().find(|asset| asset.url == uri.path()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let response_headers = [
        (CONTENT_TYPE, asset.media_type),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (VARY, "Accept-Encoding"),
    ];
    if accepts_gzip(&headers) && !asset.gzipped.is_empty() {
        return (
            response_headers,
            [(CONTENT_ENCODING, "gzip")],
            asset.gzipped.clone(),
        )
            .into_response();
    }
    (response_headers, asset.plain.clone()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use polis_view::Tab;

    use crate::layout::tab;

    #[test]
    fn assets_of_every_tab_exist() {
        for tab in Tab::ALL {
            for name in tab::tab_stylesheets(tab)
                .iter()
                .chain(tab::tab_scripts(tab))
            {
                assert!(asset_url(name).ends_with(name), "{name}");
            }
        }
    }
}
