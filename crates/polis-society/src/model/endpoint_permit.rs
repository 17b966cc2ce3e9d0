//! Endpoint permit: a response's slot in the concurrency limit of its model endpoint. The response holds the
//! slot until it is committed, so that a crash loses few responses.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A permit that other callers wait for, released when the last copy is dropped.
///
/// Keep it until the response is committed: then an endpoint never has more uncommitted responses than slots,
/// however slow the store is, and a crash loses few of them.
#[derive(Clone, Default)]
pub struct EndpointPermit(Option<Arc<dyn Any + Send + Sync>>);

impl EndpointPermit {
    /// Holds a value until this is dropped.
    pub fn holding(resource: impl Any + Send + Sync) -> Self {
        Self(Some(Arc::new(resource)))
    }

    /// Holds nothing: recordings and scripts have no concurrency limit.
    pub fn none() -> Self {
        Self(None)
    }
}

impl fmt::Debug for EndpointPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "held" } else { "nothing" })
    }
}

/// Always equal: responses are compared by their content, not by their permit.
impl PartialEq for EndpointPermit {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for EndpointPermit {}
