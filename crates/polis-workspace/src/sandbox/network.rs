//! Networks with nothing in them, one for each workspace, where polis is root.
//!
//! Making a network namespace is the most expensive part of a sandbox, and one that reaches nothing
//! is as good for the next command of the same workspace as for the first. Only root may enter one
//! that is there already; anybody else makes a new one with every command.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::identity::keeper;
use crate::directory::DirectoryIdentity;

/// How many workspaces are remembered; one that is forgotten gets a new network.
const MOST: usize = 64;

/// The networks of workspaces.
#[derive(Debug, Default)]
pub(crate) struct EmptyNetworks(Mutex<HashMap<DirectoryIdentity, Arc<OwnedFd>>>);

impl EmptyNetworks {
    /// The network of a workspace.
    pub(crate) fn of(&self, workspace: DirectoryIdentity) -> std::io::Result<Arc<OwnedFd>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(network) = known.get(&workspace) {
            return Ok(Arc::clone(network));
        }
        let (process, _keep) = keeper(libc::CLONE_NEWNET)?;
        let network: OwnedFd = File::open(format!("/proc/{}/ns/net", process.pid))?.into();
        let network = Arc::new(network);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(workspace, Arc::clone(&network));
        Ok(network)
    }
}

/// This thread in another network, until it is dropped. Processes it starts meanwhile stay there.
#[derive(Debug)]
pub(crate) struct Visit {
    home: OwnedFd,
}

impl Visit {
    /// Moves this thread into a network.
    pub(crate) fn to(network: &OwnedFd) -> std::io::Result<Self> {
        let home = File::open("/proc/thread-self/ns/net")?.into();
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(Self { home })
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        // Fails only for want of a little kernel memory. A thread that stayed would reach nothing
        // any more, so it goes on trying.
        while move_into_link_name_space(self.home.as_fd(), Some(LinkNameSpaceType::Network))
            .is_err()
        {
            std::thread::yield_now();
        }
    }
}
