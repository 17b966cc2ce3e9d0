//! What the warden tells polis, as bytes on a pipe.

use super::kernel::Errno;

macro_rules! steps {
    ($(#[doc = $about:literal] $name:ident = $number:literal,)+) => {
        /// A step of building a sandbox.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Step { $(#[doc = $about] $name = $number,)+ }

        impl Step {
            fn from_byte(byte: u8) -> Option<Self> {
                match byte { $($number => Some(Self::$name),)+ _ => None }
            }

            /// The step, in words.
            pub(crate) fn about(self) -> &'static str {
                match self { $(Self::$name => $about.trim_ascii(),)+ }
            }
        }
    };
}

steps! {
    /// starting a session
    Session = 1,
    /// becoming another user
    User = 2,
    /// hiding the warden
    Hide = 3,
    /// copying a part of the file system
    Copy = 4,
    /// making a new root
    Root = 5,
    /// furnishing the new root
    Fixture = 6,
    /// setting mount attributes
    Attributes = 7,
    /// attaching a part of the file system
    Attach = 8,
    /// making a private /tmp
    Tmp = 9,
    /// mounting /proc
    Proc = 10,
    /// moving into the new root
    Pivot = 11,
    /// naming the machine
    Name = 12,
    /// switching loopback on
    Loopback = 13,
    /// entering the workspace
    Directory = 14,
    /// giving up new privileges
    Privileges = 15,
    /// dropping capabilities
    Capabilities = 16,
    /// adopting orphans
    Adoption = 17,
    /// starting the command
    Start = 18,
    /// setting descriptors
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

/// A message of the warden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// It does not: this step failed.
    Failed {
        /// Which.
        step: Step,
        /// How.
        errno: Errno,
    },
    /// The command ended, with a status as `wait` gives it.
    Ended {
        /// The status.
        status: i32,
        /// Whether nothing else that it started is left.
        alone: bool,
    },
    /// It was told to end everything.
    Stopped,
    /// The command used more memory than it may.
    OutOfMemory,
}

/// How long a message is.
pub(crate) const LENGTH: usize = 6;

impl Report {
    /// The message's bytes.
    pub(crate) fn to_bytes(self) -> [u8; LENGTH] {
        let (tag, step, value) = match self {
            Self::Failed {
                step,
                errno: Errno(errno),
            } => (2, step as u8, errno),
            Self::Ended { status, alone } => (3, u8::from(alone), status),
            Self::Stopped => (4, 0, 0),
            Self::OutOfMemory => (5, 0, 0),
        };
        let [a, b, c, d] = value.to_ne_bytes();
        [tag, step, a, b, c, d]
    }

    /// The message of these bytes.
    pub(crate) fn from_bytes(bytes: [u8; LENGTH]) -> Option<Self> {
        let [tag, step, a, b, c, d] = bytes;
        let value = i32::from_ne_bytes([a, b, c, d]);
        match tag {
            2 => Some(Self::Failed {
                step: Step::from_byte(step)?,
                errno: Errno(value),
            }),
            3 => Some(Self::Ended {
                status: value,
                alone: step == 1,
            }),
            4 => Some(Self::Stopped),
            5 => Some(Self::OutOfMemory),
            _ => None,
        }
    }
}
