//! Security headers: default Content Security Policy (CSP), `nosniff`, referrer policy and `no-store`, for
//! responses that do not set these headers themselves, as cacheable assets do.

use http::HeaderValue;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use tower_http::set_header::SetResponseHeaderLayer;

/// Content Security Policy: only our own scripts, styles, images and connections, and nothing inline.
const CSP_HEADER_VALUE: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// A layer that sets a response header unless the response has it.
type DefaultHeaderLayer = SetResponseHeaderLayer<HeaderValue>;

/// Returns the layer that adds the default security headers to documents and fragments, router errors,
/// redirects, assets and streams.
pub(crate) fn security_headers_layer() -> (
    DefaultHeaderLayer,
    DefaultHeaderLayer,
    DefaultHeaderLayer,
    DefaultHeaderLayer,
) {
    let default_header = SetResponseHeaderLayer::if_not_present;
    (
        default_header(CONTENT_SECURITY_POLICY, CSP_HEADER_VALUE),
        default_header(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // No other site learns the reader's URL. Our own forms need the referrer: with `no-referrer`, browsers
        // would send `Origin: null`, which the admission check refuses.
        default_header(REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        default_header(CACHE_CONTROL, HeaderValue::from_static("no-store")),
    )
}
