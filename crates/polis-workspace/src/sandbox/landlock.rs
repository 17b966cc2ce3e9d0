//! What Landlock governs at each version of its interface, and what a command is allowed.

use super::kernel::LandlockRuleset;

/// The oldest version that is a wall of its own: it governs truncation too.
pub(crate) const OLDEST_ALONE: i32 = 3;
/// The version from which signals and abstract sockets have a scope.
pub(crate) const SCOPES: i32 = 6;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIRECTORY: u64 = 1 << 3;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEVICE: u64 = 1 << 15;
const MAKE_CHARACTER_DEVICE: u64 = 1 << 6;
const MAKE_BLOCK_DEVICE: u64 = 1 << 11;

/// Everything the first version governs.
const FIRST: u64 = (1 << 13) - 1;

/// What Landlock can do here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Abilities {
    version: i32,
}

impl Abilities {
    /// Those of a version.
    pub(crate) fn of(version: i32) -> Self {
        Self { version }
    }

    /// The version.
    pub(crate) fn version(self) -> i32 {
        self.version
    }

    /// Whether it is a wall of its own.
    pub(crate) fn suffice_alone(self) -> bool {
        self.version >= OLDEST_ALONE
    }

    fn files(self) -> u64 {
        let mut governed = FIRST;
        for (since, access) in [(2, REFER), (3, TRUNCATE), (5, IOCTL_DEVICE)] {
            if self.version >= since {
                governed |= access;
            }
        }
        governed
    }

    /// Governs everything there is: files, and if `network` is not granted, connections.
    pub(crate) fn ruleset(self, no_network: bool) -> LandlockRuleset {
        const NETWORK: u64 = 3;
        LandlockRuleset {
            files: self.files(),
            network: if no_network && self.version >= 4 {
                NETWORK
            } else {
                0
            },
            scopes: self.scopes(),
        }
    }

    /// Governs signals and abstract sockets alone.
    pub(crate) fn scope(self) -> Option<LandlockRuleset> {
        (self.version >= SCOPES).then(|| LandlockRuleset {
            files: 0,
            network: 0,
            scopes: self.scopes(),
        })
    }

    fn scopes(self) -> u64 {
        const ABSTRACT_SOCKETS_AND_SIGNALS: u64 = 3;
        if self.version >= SCOPES {
            ABSTRACT_SOCKETS_AND_SIGNALS
        } else {
            0
        }
    }

    /// Reading and executing files, listing directories.
    pub(crate) fn programs(self) -> u64 {
        EXECUTE | READ_FILE | READ_DIRECTORY
    }

    /// Reading files, listing directories.
    pub(crate) fn reading(self) -> u64 {
        READ_FILE | READ_DIRECTORY
    }

    /// Listing directories.
    pub(crate) fn listing(self) -> u64 {
        READ_DIRECTORY
    }

    /// Reading a single file.
    pub(crate) fn reading_file(self) -> u64 {
        READ_FILE
    }

    /// Everything with files but making devices.
    pub(crate) fn working(self) -> u64 {
        self.files() & !(MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE | IOCTL_DEVICE)
    }

    /// Reading and writing a single file.
    pub(crate) fn working_file(self) -> u64 {
        self.files() & (EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE)
    }

    /// Reading and writing a device.
    pub(crate) fn device(self) -> u64 {
        self.files() & (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEVICE)
    }
}
