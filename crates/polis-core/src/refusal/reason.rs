//! Reason of a refusal as data: the id of a message and its arguments. The macros that declare the messages.
//!
//! The texts are in the message catalogue, in every language and for every surface; rules only name the message
//! and fill in its arguments. A reason is plain data: it can be compared, cloned for each request of a failed
//! batch, and stored with a response.
//!
//! Each area declares its messages with [`refusal_table`](crate::refusal_table) (refusals with their codes),
//! [`problem_table`](crate::problem_table) and [`phrase_table`](crate::phrase_table) (texts that messages insert, with
//! and without arguments).

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::RefusalCode;
use crate::{AgentId, TaskId};

/// Why a request was refused: a message of the catalogue and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    id: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<(Cow<'static, str>, ReasonArg)>,
    /// The reading tool that was called, if the refusal is the result of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    called_tool: Option<Cow<'static, str>>,
}

/// Argument of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasonArg {
    /// A text, inserted as it is: a name, or a text of a user or of another program. It also selects among
    /// variants of a message.
    Text(String),
    /// A number, which can select a singular or plural form.
    Number(u64),
    /// Several values.
    List(ListArg),
    /// Another message, in the same language.
    Reason(Box<Reason>),
    /// The hint of another message, in the same language and for the same surface.
    HintOf(Box<Reason>),
}

/// Several values that a message inserts, and how they are joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListArg {
    /// The values.
    pub items: Vec<ReasonArg>,
    /// How they are joined.
    pub style: ListStyle,
}

/// How the values of a list are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListStyle {
    /// With commas.
    Commas,
    /// With commas, and a conjunction before the last value.
    Conjunction,
    /// With semicolons: clauses.
    Semicolons,
    /// With arrows: a path.
    Arrows,
    /// On lines of their own.
    Lines,
}

/// Message of a refusal as declared in a table: what the catalogue must provide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasonSpec {
    /// Id of the message.
    pub id: &'static str,
    /// Code of the refusal; `None` for a phrase within other messages.
    pub code: Option<RefusalCode>,
    /// Names of the arguments.
    pub args: &'static [&'static str],
}

impl Reason {
    /// Creates a reason without arguments.
    pub const fn new(id: &'static str) -> Self {
        Self {
            id: Cow::Borrowed(id),
            args: Vec::new(),
            called_tool: None,
        }
    }

    /// Records that a tool was called that only reads. A hint must not name that tool.
    #[must_use]
    pub fn with_called_tool(mut self, tool: &'static str) -> Self {
        self.called_tool = Some(Cow::Borrowed(tool));
        self
    }

    /// Returns the reading tool that was called.
    pub fn called_tool(&self) -> Option<&str> {
        self.called_tool.as_deref()
    }

    /// Adds an argument.
    #[must_use]
    pub fn with_arg(mut self, name: &'static str, value: impl Into<ReasonArg>) -> Self {
        self.args.push((Cow::Borrowed(name), value.into()));
        self
    }

    /// Returns the id of the message.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns an argument.
    pub fn arg(&self, name: &str) -> Option<&ReasonArg> {
        let mut args = self.args.iter();
        args.find(|(own_name, _)| own_name == name)
            .map(|(_, value)| value)
    }

    /// Returns the names of the arguments.
    pub fn arg_names(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(|(name, _)| name.as_ref())
    }
}

impl ListArg {
    /// Creates a list.
    pub fn new<T: Into<ReasonArg>>(style: ListStyle, items: impl IntoIterator<Item = T>) -> Self {
        Self {
            items: items.into_iter().map(Into::into).collect(),
            style,
        }
    }
}

/// Prints the id and the arguments, for logs and for errors of parsers; texts for people are rendered from the
/// catalogue.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        for (n, (name, value)) in self.args.iter().enumerate() {
            let start = if n == 0 { " (" } else { ", " };
            write!(f, "{start}{name}: {value}")?;
        }
        if self.args.is_empty() {
            Ok(())
        } else {
            f.write_str(")")
        }
    }
}

impl fmt::Display for ReasonArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Reason(reason) | Self::HintOf(reason) => write!(f, "{reason}"),
            Self::List(list) => {
                for (n, item) in list.items.iter().enumerate() {
                    write!(f, "{}{item}", if n == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

impl From<String> for ReasonArg {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ReasonArg {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<bool> for ReasonArg {
    fn from(value: bool) -> Self {
        Self::from(if value { "true" } else { "false" })
    }
}

impl From<&AgentId> for ReasonArg {
    fn from(id: &AgentId) -> Self {
        Self::from(id.as_str())
    }
}

impl From<AgentId> for ReasonArg {
    fn from(id: AgentId) -> Self {
        Self::from(&id)
    }
}

impl From<TaskId> for ReasonArg {
    fn from(id: TaskId) -> Self {
        Self::Text(id.to_string())
    }
}

impl From<u64> for ReasonArg {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for ReasonArg {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u8> for ReasonArg {
    fn from(number: u8) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for ReasonArg {
    fn from(number: usize) -> Self {
        Self::Number(crate::number::saturating_cast(number))
    }
}

impl From<Vec<String>> for ReasonArg {
    fn from(items: Vec<String>) -> Self {
        Self::List(ListArg::new(ListStyle::Commas, items))
    }
}

impl From<ListArg> for ReasonArg {
    fn from(list: ListArg) -> Self {
        Self::List(list)
    }
}

impl From<Reason> for ReasonArg {
    fn from(reason: Reason) -> Self {
        Self::Reason(Box::new(reason))
    }
}

/// Declares an enum of refusals: one variant for each message, with the id of the message, the code, and the
/// arguments as fields. So a code and a sentence cannot disagree, and a rule cannot omit an argument.
///
/// The enum converts into a [`Refusal`](crate::Refusal); its constant `SPECS` lists the messages, which a test
/// compares with the catalogue.
#[macro_export]
macro_rules! refusal_table {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident {
            $($variant:ident = $id:literal, $($code:ident)::+ $({ $($field:ident : $type:ty),+ $(,)? })?;)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            $(
                #[doc = concat!("The message `", $id, "`.")]
                $variant $({ $(
                    #[doc = concat!("Its argument `", stringify!($field), "`.")]
                    $field: $type,
                )+ })?,
            )+
        }

        impl $name {
            /// The messages of these refusals.
            pub const SPECS: &'static [$crate::refusal::ReasonSpec] = &[$(
                $crate::refusal::ReasonSpec {
                    id: $id,
                    code: Some($crate::refusal_code!($($code)::+)),
                    args: &[$($(stringify!($field)),+)?],
                },
            )+];
        }

        impl From<$name> for $crate::Refusal {
            fn from(refusal: $name) -> Self {
                match refusal {
                    $($name::$variant $({ $($field),+ })? => Self::new(
                        $crate::refusal_code!($($code)::+),
                        $crate::refusal::Reason::new($id)
                            $($(.with_arg(stringify!($field), $field))+)?,
                    ),)+
                }
            }
        }
    };
}

/// Resolves a code of a table: a name alone is one of the shared codes, `HttpCode::NAME` one of a surface.
#[doc(hidden)]
#[macro_export]
macro_rules! refusal_code {
    ($code:ident) => {
        $crate::RefusalCode::$code
    };
    ($owner:ident :: $code:ident) => {
        $owner::$code
    };
}

/// Declares an enum of problems that messages insert: like a phrase, but with arguments. The enum converts into a
/// [`Reason`](crate::refusal::Reason).
#[macro_export]
macro_rules! problem_table {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident {
            $($variant:ident = $id:literal $({ $($field:ident : $type:ty),+ $(,)? })?;)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            $(
                #[doc = concat!("The message `", $id, "`.")]
                $variant $({ $(
                    #[doc = concat!("Its argument `", stringify!($field), "`.")]
                    $field: $type,
                )+ })?,
            )+
        }

        impl $name {
            /// The messages of these problems.
            pub const SPECS: &'static [$crate::refusal::ReasonSpec] = &[$(
                $crate::refusal::ReasonSpec {
                    id: $id,
                    code: None,
                    args: &[$($(stringify!($field)),+)?],
                },
            )+];
        }

        impl From<$name> for $crate::refusal::Reason {
            fn from(problem: $name) -> Self {
                match problem {
                    $($name::$variant $({ $($field),+ })? => Self::new($id)
                        $($(.with_arg(stringify!($field), $field))+)?,)+
                }
            }
        }
    };
}

/// Declares an enum of phrases that messages insert, each of them a message of the catalogue.
#[macro_export]
macro_rules! phrase_table {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident {
            $($variant:ident = $id:literal;)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $(
                #[doc = concat!("The phrase `", $id, "`.")]
                $variant,
            )+
        }

        impl $name {
            /// The messages of these phrases.
            pub const SPECS: &'static [$crate::refusal::ReasonSpec] = &[$(
                $crate::refusal::ReasonSpec { id: $id, code: None, args: &[] },
            )+];
        }

        impl From<$name> for $crate::refusal::ReasonArg {
            fn from(phrase: $name) -> Self {
                match phrase {
                    $($name::$variant => $crate::refusal::Reason::new($id).into(),)+
                }
            }
        }
    };
}
