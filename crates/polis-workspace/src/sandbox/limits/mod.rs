//! Resource limits of a command: control groups, memory, descriptors and inotify watches.

pub(in crate::sandbox) mod cgroup;
pub(in crate::sandbox) mod descriptor_limits;
pub(in crate::sandbox) mod inotify;
pub(in crate::sandbox) mod memory_watch;
