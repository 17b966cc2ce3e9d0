//! Cache of empty network namespaces, one per workspace, used if polis runs as root.
//!
//! Creating a network namespace is the most expensive part of a sandbox, and one without connections can be
//! reused by later commands of the same workspace. Only root may enter an existing namespace; other users
//! create a new one for every command.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::directory::DirectoryIdentity;
use crate::sandbox::isolation::user_mapping::start_namespace_holder;

/// Maximum number of cached namespaces; the cache is cleared when it is full.
const MAX_CACHED_NETWORKS: usize = 64;

/// Network namespaces by workspace.
#[derive(Debug, Default)]
pub(crate) struct NetworkNamespaceCache(Mutex<HashMap<DirectoryIdentity, Arc<OwnedFd>>>);

impl NetworkNamespaceCache {
    /// Returns the namespace of a workspace; creates it if needed.
    pub(crate) fn get_or_create(
        &self,
        workspace: DirectoryIdentity,
    ) -> std::io::Result<Arc<OwnedFd>> {
        let mut networks = self.0.lock();
        if let Some(network) = networks.get(&workspace) {
            return Ok(Arc::clone(network));
        }
        let (process, _pipe) = start_namespace_holder(libc::CLONE_NEWNET)?;
        let network: OwnedFd = File::open(format!("/proc/{}/ns/net", process.pid))?.into();
        let network = Arc::new(network);
        if networks.len() >= MAX_CACHED_NETWORKS {
            networks.clear();
        }
        networks.insert(workspace, Arc::clone(&network));
        Ok(network)
    }
}

/// Moves this thread into another network namespace until dropped. Processes started in the meantime stay
/// there.
#[derive(Debug)]
pub(crate) struct NetworkNamespaceGuard {
    original: OwnedFd,
}

impl NetworkNamespaceGuard {
    /// Moves this thread into a network namespace.
    pub(crate) fn enter(network: &OwnedFd) -> std::io::Result<Self> {
        let home = File::open("/proc/thread-self/ns/net")?.into();
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(Self { original: home })
    }
}

impl Drop for NetworkNamespaceGuard {
    fn drop(&mut self) {
        // Fails only if kernel memory is short. A thread that stayed there would have no network, so this
        // retries until it succeeds.
        while move_into_link_name_space(self.original.as_fd(), Some(LinkNameSpaceType::Network))
            .is_err()
        {
            std::thread::yield_now();
        }
    }
}
