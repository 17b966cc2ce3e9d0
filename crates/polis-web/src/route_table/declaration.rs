//! Declaration of a route: method, path, required session and scopes, and the CSRF check of its requests.

use std::fmt;

use http::Method;
use polis_core::Refusal;
use polis_core::token::{AccessLevel, OperationArea};
use polis_serve::CallerIdentity;

/// Declaration of a route of the web interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteDeclaration {
    /// Method of the request. A route for GET also serves HEAD.
    pub method: PageMethod,
    /// Path, with parameters in braces.
    pub path: &'static str,
    /// Session and scopes that the request needs.
    pub access: RouteAccess,
    /// How the request proves that it does not come from a page of another site.
    pub csrf: CsrfCheck,
}

/// Methods of the web interface: browsers submit forms only with these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageMethod {
    /// Reads and changes nothing.
    Get,
    /// Submits a form.
    Post,
}

/// Session and scopes that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteAccess {
    /// No session.
    Anonymous,
    /// A session with any scopes, for routes that concern no area.
    AnySession,
    /// A session whose scopes include all of these.
    Scoped(&'static [(OperationArea, AccessLevel)]),
}

/// How a request proves that it does not come from a page of another site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsrfCheck {
    /// No check, because the route changes nothing.
    NotNeeded,
    /// The CSRF token of the session.
    SessionToken,
    /// The browser must not report another site as the sender (`Sec-Fetch-Site`); for sign-in, where no
    /// session exists yet.
    SameSite,
}

impl PageMethod {
    /// Returns the method that serves a request; `None` if no route can.
    pub(super) fn for_request(method: &Method) -> Option<Self> {
        match *method {
            Method::GET | Method::HEAD => Some(Self::Get),
            Method::POST => Some(Self::Post),
            _ => None,
        }
    }

    /// Returns the methods as listed in the `Allow` header.
    pub(super) fn allowed_methods(self) -> &'static str {
        match self {
            Self::Get => "GET,HEAD",
            Self::Post => "POST",
        }
    }
}

impl RouteAccess {
    /// Fails with `InsufficientScope` if the scopes of a session do not include the required ones.
    pub(super) fn check_scopes(self, identity: &CallerIdentity) -> Result<(), Refusal> {
        match self {
            Self::Anonymous | Self::AnySession => Ok(()),
            Self::Scoped(required) => required
                .iter()
                .try_for_each(|(area, level)| identity.check_scope(*area, *level)),
        }
    }

    /// Fails with `InsufficientScope` if the scopes of a session do not include changes in the required areas.
    pub(super) fn check_write_scopes(self, identity: &CallerIdentity) -> Result<(), Refusal> {
        match self {
            Self::Anonymous | Self::AnySession => Ok(()),
            Self::Scoped(required) => required
                .iter()
                .try_for_each(|(area, _)| identity.check_scope(*area, AccessLevel::Write)),
        }
    }

    /// Returns whether requests need a session.
    pub fn needs_session(self) -> bool {
        self != Self::Anonymous
    }
}

impl fmt::Display for PageMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Get => "GET",
            Self::Post => "POST",
        })
    }
}

impl fmt::Display for RouteAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.pad("anonymous"),
            Self::AnySession => f.pad("any session"),
            Self::Scoped(required) => {
                let scope = |(area, level): &(OperationArea, AccessLevel)| match level {
                    AccessLevel::Read => format!("{}:read", area.as_str()),
                    AccessLevel::Write => format!("{}:write", area.as_str()),
                };
                let scopes: Vec<String> = required.iter().map(scope).collect();
                f.pad(&scopes.join(" "))
            }
        }
    }
}

impl fmt::Display for CsrfCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotNeeded => "-",
            Self::SessionToken => "token",
            Self::SameSite => "same site",
        })
    }
}
