//! What a page is made of beside its text, kept in the program: nothing is fetched from elsewhere.
//!
//! An asset's address has its hash in it, so a browser may keep it for ever and never has an old one.

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

use crate::house::House;

/// The sheet of every page: what all share, then what each area needs.
const STYLE: &str = concat!(
    include_str!("../assets/polis.css"),
    include_str!("../assets/tasks.css"),
    include_str!("../assets/agents.css"),
    include_str!("../assets/boards.css"),
    include_str!("../assets/files.css"),
);

/// The script of every page, in the same order.
const SCRIPT: &str = concat!(
    include_str!("../assets/polis.js"),
    include_str!("../assets/board-drag.js"),
);

const FILES: [(&str, &str, &[u8]); 5] = [
    (
        "htmx.min.js",
        "text/javascript",
        include_bytes!("../assets/htmx.min.js"),
    ),
    (
        "idiomorph-ext.min.js",
        "text/javascript",
        include_bytes!("../assets/idiomorph-ext.min.js"),
    ),
    (
        "polis.js",
        "text/javascript; charset=utf-8",
        SCRIPT.as_bytes(),
    ),
    ("polis.css", "text/css; charset=utf-8", STYLE.as_bytes()),
    (
        "icon.svg",
        "image/svg+xml",
        include_bytes!("../assets/icon.svg"),
    ),
];

struct Asset {
    name: &'static str,
    media: &'static str,
    url: String,
    plain: &'static [u8],
    packed: Bytes,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| FILES.iter().map(Asset::of).collect());

impl Asset {
    fn of((name, media, plain): &(&'static str, &'static str, &'static [u8])) -> Self {
        let hash: String = Sha256::digest(plain)
            .iter()
            .take(8)
            .map(|b| format!("{b:02x}"))
            .collect();
        let mut pack = GzEncoder::new(Vec::new(), Compression::best());
        // Writing into memory does not fail.
        let packed = pack
            .write_all(plain)
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

/// The address of an asset.
pub(crate) fn url(name: &str) -> &'static str {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    found.map_or("", |asset| asset.url.as_str())
}

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new().route("/assets/{hash}/{name}", get(serve))
}

async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    // Another hash is another version: what is here would be kept for it for ever.
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
    (told, asset.plain).into_response()
}
