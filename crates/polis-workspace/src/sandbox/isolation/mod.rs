//! Parts of a command's isolation, which `blueprint` combines into one plan: the host files that it sees,
//! Landlock rights, the seccomp filter, reusable network namespaces, its user ID, and substitutes for machines
//! without namespaces.

pub(in crate::sandbox) mod host_view;
pub(in crate::sandbox) mod landlock;
pub(in crate::sandbox) mod network_namespace;
pub(in crate::sandbox) mod no_namespaces;
pub(in crate::sandbox) mod seccomp;
pub(in crate::sandbox) mod user_mapping;
