//! Zero-copy deserialization of response chunks of the OpenAI chat API. Lenient: accepts what servers really
//! send, not only what the specification allows.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A chunk of a stream, or a response that came in one piece.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ResponseChunk<'a> {
    #[serde(borrow, default)]
    pub(super) model: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) choices: Option<FirstChoice<'a>>,
    #[serde(default)]
    pub(super) usage: Option<ReportedUsage>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// The first choice: more than one is never requested.
#[derive(Debug, Default)]
pub(super) struct FirstChoice<'a>(pub(super) Option<ResponseChoice<'a>>);

/// A choice: one response of the model.
#[derive(Debug, Deserialize)]
pub(super) struct ResponseChoice<'a> {
    /// The next part, in a stream.
    #[serde(borrow, default)]
    pub(super) delta: Option<MessageDelta<'a>>,
    /// The whole message, in a response that came in one piece.
    #[serde(borrow, default)]
    pub(super) message: Option<MessageDelta<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Option<LenientText<'a>>,
    /// Some servers report the usage here.
    #[serde(default)]
    pub(super) usage: Option<ReportedUsage>,
}

/// A delta of a message, or the whole message.
#[derive(Debug, Default, Deserialize)]
pub(super) struct MessageDelta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<ToolCallDelta<'a>>>,
    /// The deprecated form of a tool call, from before there could be several.
    #[serde(borrow, default)]
    pub(super) function_call: Option<FunctionDelta<'a>>,
}

/// A part of a tool call.
#[derive(Debug, Deserialize)]
pub(super) struct ToolCallDelta<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) id: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) function: Option<FunctionDelta<'a>>,
    /// Provider-specific data that has to be sent back with the call.
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
}

/// The function of a tool call: its name and arguments, or parts of them.
#[derive(Debug, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<LenientText<'a>>,
    /// A string with JSON in it; some servers send the JSON itself.
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Token usage as reported by the server, under the field names of two APIs.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct ReportedUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
}

impl ReportedUsage {
    /// Returns the tokens of prompt and response, if both are reported.
    pub(super) fn token_counts(self) -> Option<(u64, u64)> {
        Some((
            self.prompt_tokens.or(self.input_tokens)?,
            self.completion_tokens.or(self.output_tokens)?,
        ))
    }
}

/// A string, or a value that can be read as one: a number, or a list of parts with texts.
#[derive(Debug, Default)]
pub(super) struct LenientText<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for LenientText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(LenientTextVisitor)
            .map(LenientText)
    }
}

struct LenientTextVisitor;

impl<'de> Visitor<'de> for LenientTextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut all = String::new();
        while let Some(part) = parts.next_element::<LenientText<'de>>()? {
            all.push_str(&part.0);
        }
        Ok(Cow::Owned(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut found = Cow::Borrowed("");
        while let Some(key) = fields.next_key::<LenientText<'de>>()? {
            if key.0 == "text" {
                found = fields.next_value::<LenientText<'de>>()?.0;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for FirstChoice<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_seq(FirstChoiceVisitor)
            .map(FirstChoice)
    }
}

struct FirstChoiceVisitor;

impl<'de> Visitor<'de> for FirstChoiceVisitor {
    type Value = Option<ResponseChoice<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut choices: A) -> Result<Self::Value, A::Error> {
        let first = choices.next_element()?;
        while choices.next_element::<IgnoredAny>()?.is_some() {}
        Ok(first)
    }
}
