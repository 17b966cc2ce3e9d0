//! Reading of requests: bodies, parameters, URL encoding, request ids and conditional headers. `response` writes
//! bodies and ETags with the same modules.

pub mod body;
pub(crate) mod etag;
pub(crate) mod request_id;
pub(crate) mod request_params;
pub(crate) mod url_encoding;
