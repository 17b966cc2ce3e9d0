//! Landlock access rights: what each ABI version handles, and what a command is granted.

use crate::sandbox::kernel::LandlockRulesetAttr;

/// Oldest ABI version that suffices without namespaces: it also handles truncation.
pub(crate) const MIN_STANDALONE_VERSION: i32 = 3;
/// First ABI version with scopes for signals and abstract sockets.
pub(crate) const MIN_SCOPE_VERSION: i32 = 6;

// Constants of `linux/landlock.h`, which libc does not have.
const LANDLOCK_ACCESS_FS_EXECUTE: u64 = 1;
const LANDLOCK_ACCESS_FS_WRITE_FILE: u64 = 1 << 1;
const LANDLOCK_ACCESS_FS_READ_FILE: u64 = 1 << 2;
const LANDLOCK_ACCESS_FS_READ_DIR: u64 = 1 << 3;
const LANDLOCK_ACCESS_FS_REFER: u64 = 1 << 13;
const LANDLOCK_ACCESS_FS_TRUNCATE: u64 = 1 << 14;
const LANDLOCK_ACCESS_FS_IOCTL_DEV: u64 = 1 << 15;
const LANDLOCK_ACCESS_FS_MAKE_CHAR: u64 = 1 << 6;
const LANDLOCK_ACCESS_FS_MAKE_BLOCK: u64 = 1 << 11;

const LANDLOCK_ACCESS_NET_BIND_TCP: u64 = 1;
const LANDLOCK_ACCESS_NET_CONNECT_TCP: u64 = 1 << 1;

const LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET: u64 = 1;
const LANDLOCK_SCOPE_SIGNAL: u64 = 1 << 1;

/// All access rights of ABI version 1.
const LANDLOCK_ACCESS_FS_VERSION_1: u64 = (1 << 13) - 1;

/// Landlock features of this kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LandlockSupport {
    version: i32,
}

impl LandlockSupport {
    /// Returns the features of an ABI version.
    pub(crate) fn from_version(version: i32) -> Self {
        Self { version }
    }

    /// Returns the ABI version.
    pub(crate) fn version(self) -> i32 {
        self.version
    }

    /// Returns whether it suffices as the only confinement, without namespaces.
    pub(crate) fn is_sufficient_alone(self) -> bool {
        self.version >= MIN_STANDALONE_VERSION
    }

    fn handled_file_access(self) -> u64 {
        let mut governed = LANDLOCK_ACCESS_FS_VERSION_1;
        for (since, access) in [
            (2, LANDLOCK_ACCESS_FS_REFER),
            (3, LANDLOCK_ACCESS_FS_TRUNCATE),
            (5, LANDLOCK_ACCESS_FS_IOCTL_DEV),
        ] {
            if self.version >= since {
                governed |= access;
            }
        }
        governed
    }

    /// Returns a ruleset that handles everything: files, scopes, and with `no_network` TCP connections.
    pub(crate) fn full_ruleset(self, no_network: bool) -> LandlockRulesetAttr {
        LandlockRulesetAttr {
            handled_access_fs: self.handled_file_access(),
            handled_access_net: if no_network && self.version >= 4 {
                LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP
            } else {
                0
            },
            scoped: self.scope_bits(),
        }
    }

    /// Returns a ruleset that handles only signals and abstract sockets, if supported.
    pub(crate) fn scope_ruleset(self) -> Option<LandlockRulesetAttr> {
        (self.version >= MIN_SCOPE_VERSION).then(|| LandlockRulesetAttr {
            handled_access_fs: 0,
            handled_access_net: 0,
            scoped: self.scope_bits(),
        })
    }

    fn scope_bits(self) -> u64 {
        if self.version >= MIN_SCOPE_VERSION {
            LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL
        } else {
            0
        }
    }

    /// Returns the rights to read and execute files and to list directories.
    pub(crate) fn read_execute_access(self) -> u64 {
        LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR
    }

    /// Returns the rights to read files and to list directories.
    pub(crate) fn read_access(self) -> u64 {
        LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR
    }

    /// Returns the right to list directories.
    pub(crate) fn list_access(self) -> u64 {
        LANDLOCK_ACCESS_FS_READ_DIR
    }

    /// Returns the right to read a single file.
    pub(crate) fn read_file_access(self) -> u64 {
        LANDLOCK_ACCESS_FS_READ_FILE
    }

    /// Returns all rights on files except creating devices.
    pub(crate) fn read_write_access(self) -> u64 {
        self.handled_file_access()
            & !(LANDLOCK_ACCESS_FS_MAKE_CHAR
                | LANDLOCK_ACCESS_FS_MAKE_BLOCK
                | LANDLOCK_ACCESS_FS_IOCTL_DEV)
    }

    /// Returns the rights to read, write and execute a single file.
    pub(crate) fn read_write_file_access(self) -> u64 {
        self.handled_file_access()
            & (LANDLOCK_ACCESS_FS_EXECUTE
                | LANDLOCK_ACCESS_FS_READ_FILE
                | LANDLOCK_ACCESS_FS_WRITE_FILE
                | LANDLOCK_ACCESS_FS_TRUNCATE)
    }

    /// Returns the rights to read and write a device.
    pub(crate) fn device_access(self) -> u64 {
        self.handled_file_access()
            & (LANDLOCK_ACCESS_FS_READ_FILE
                | LANDLOCK_ACCESS_FS_WRITE_FILE
                | LANDLOCK_ACCESS_FS_TRUNCATE
                | LANDLOCK_ACCESS_FS_IOCTL_DEV)
    }
}
