//! Authentication of browsers: login, sessions and CSRF tokens. Scopes are checked by the guard of `route_table`.

pub(crate) mod csrf;
pub(crate) mod login;
pub(crate) mod login_throttle;
pub(crate) mod session;
