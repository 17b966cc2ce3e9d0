//! Wire format of the warden's reports to polis: fixed-size messages on a pipe.

use crate::refusal_tables::SandboxStep;
use crate::sandbox::kernel::Errno;

macro_rules! steps {
    ($(#[doc = $about:literal] $name:ident = $number:literal,)+) => {
        /// A step of setting up a sandbox.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum SetupStep { $(#[doc = $about] $name = $number,)+ }

        impl SetupStep {
            fn from_byte(byte: u8) -> Option<Self> {
                match byte { $($number => Some(Self::$name),)+ _ => None }
            }

            /// Returns the step in words, for error messages.
            pub(crate) fn phrase(self) -> SandboxStep {
                match self { $(Self::$name => SandboxStep::$name,)+ }
            }
        }
    };
}

steps! {
    /// creating a session
    Session = 1,
    /// switching the user
    User = 2,
    /// hiding the warden
    Hide = 3,
    /// cloning a mount tree
    Copy = 4,
    /// creating the new root
    Root = 5,
    /// creating files in the new root
    Fixture = 6,
    /// setting mount attributes
    Attributes = 7,
    /// attaching a mount tree
    Attach = 8,
    /// mounting a private /tmp
    Tmp = 9,
    /// mounting /proc
    Proc = 10,
    /// switching to the new root
    Pivot = 11,
    /// setting the host name
    Name = 12,
    /// bringing up loopback
    Loopback = 13,
    /// entering the workspace
    Directory = 14,
    /// setting no_new_privs
    Privileges = 15,
    /// dropping capabilities
    Capabilities = 16,
    /// becoming a subreaper
    Adoption = 17,
    /// starting the command
    Start = 18,
    /// setting up descriptors
    Descriptors = 19,
    /// setting limits
    Limits = 20,
    /// Landlock
    Landlock = 21,
    /// seccomp
    Seccomp = 22,
    /// executing the shell
    Execute = 23,
    /// watching the command
    Watch = 24,
}

/// A report of the warden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WardenReport {
    /// Setup failed at this step.
    Failed {
        /// Where the setup failed; the command was not started.
        step: SetupStep,
        /// Error of the system call.
        errno: Errno,
    },
    /// The command exited, with a wait status.
    CommandEnded {
        /// Wait status, as returned by `waitpid`.
        status: i32,
        /// Whether no other process of the command is left.
        no_process_left: bool,
    },
    /// The warden was ordered to kill everything.
    Stopped,
    /// The command exceeded its memory limit.
    OutOfMemory,
}

/// Size of a report in bytes.
pub(crate) const REPORT_BYTES: usize = 6;

impl WardenReport {
    /// Encodes the report.
    pub(crate) fn to_bytes(self) -> [u8; REPORT_BYTES] {
        let (tag, step, value) = match self {
            Self::Failed {
                step,
                errno: Errno(errno),
            } => (2, step as u8, errno),
            Self::CommandEnded {
                status,
                no_process_left: alone,
            } => (3, u8::from(alone), status),
            Self::Stopped => (4, 0, 0),
            Self::OutOfMemory => (5, 0, 0),
        };
        let [a, b, c, d] = value.to_ne_bytes();
        [tag, step, a, b, c, d]
    }

    /// Decodes a report. Returns `None` for invalid bytes.
    pub(crate) fn from_bytes(bytes: [u8; REPORT_BYTES]) -> Option<Self> {
        let [tag, step, a, b, c, d] = bytes;
        let value = i32::from_ne_bytes([a, b, c, d]);
        match tag {
            2 => Some(Self::Failed {
                step: SetupStep::from_byte(step)?,
                errno: Errno(value),
            }),
            3 => Some(Self::CommandEnded {
                status: value,
                no_process_left: step == 1,
            }),
            4 => Some(Self::Stopped),
            5 => Some(Self::OutOfMemory),
            _ => None,
        }
    }
}
