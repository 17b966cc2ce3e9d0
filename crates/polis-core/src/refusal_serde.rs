//! Transport of refusals through serde errors, and strict deserialization helpers.
//!
//! A type that is parsed from a request rejects invalid input with its own refusal code. But a serde error
//! carries only a string, and most readers want only the message. So `Display` of a [`Refusal`] prints the
//! message, and `{:#}` encodes the whole refusal as JSON, which [`unpack`] decodes.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::refusal::{Code, Refusal};

/// First character of an encoded refusal. No message begins with it.
const MARK: char = '\u{1}';

/// JSON form of a refusal.
#[derive(Serialize, Deserialize)]
struct Packed<'a> {
    code: &'a str,
    message: String,
    hint: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return f.write_str(&self.message);
        }
        let packed = Packed {
            code: self.code.as_str(),
            message: self.message.clone(),
            hint: self.hint.clone(),
        };
        let text = serde_json::to_string(&packed).map_err(|_| fmt::Error)?;
        write!(f, "{MARK}{text}")
    }
}

impl std::error::Error for Refusal {}

/// Decodes a refusal that `{:#}` encoded. Returns `None` for any other text.
pub fn unpack(text: &str) -> Option<Refusal> {
    let packed: Packed<'_> = serde_json::from_str(text.strip_prefix(MARK)?).ok()?;
    let code = Code::ALL.iter().find(|code| code.as_str() == packed.code)?;
    Some(Refusal::new(*code, packed.message, packed.hint))
}

/// Deserializes a value from a JSON string with `parse`. Any other JSON type fails with the refusal code that
/// `parse` uses.
pub(crate) fn from_text<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    parse: fn(&str) -> Result<T, Refusal>,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Reader {
        parse,
        made: PhantomData,
    })
}

/// Deserializes a JSON object. Unlike serde's derive, it does not accept an array instead.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_map(Members(PhantomData))
}

/// Deserializes an optional JSON object; see [`object`].
pub fn maybe_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|object| object.0))
}

/// Deserializes a list of JSON objects; see [`object`].
pub fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let all = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(all.into_iter().map(|object| object.0).collect())
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object(deserializer).map(Self)
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, given: A) -> Result<T, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(given))
    }
}

struct Reader<T> {
    parse: fn(&str) -> Result<T, Refusal>,
    made: PhantomData<T>,
}

impl<T> Reader<T> {
    fn no_text<E: de::Error>(&self, given: &str) -> Result<T, E> {
        // No `parse` function used here accepts the empty text, so this call yields its refusal code.
        Err(match (self.parse)("") {
            Err(refusal) => E::custom(Refusal {
                message: format!("A text in quotes is expected, not {given}."),
                ..refusal
            }),
            Ok(_) => E::custom("a text in quotes is expected"),
        })
    }
}

impl<'de, T> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text in quotes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_bool<E: de::Error>(self, given: bool) -> Result<T, E> {
        self.no_text(&given.to_string())
    }

    fn visit_i64<E: de::Error>(self, given: i64) -> Result<T, E> {
        self.no_text(&given.to_string())
    }

    fn visit_u64<E: de::Error>(self, given: u64) -> Result<T, E> {
        self.no_text(&given.to_string())
    }

    fn visit_f64<E: de::Error>(self, given: f64) -> Result<T, E> {
        self.no_text(&given.to_string())
    }

    fn visit_unit<E: de::Error>(self) -> Result<T, E> {
        self.no_text("null")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<T, A::Error> {
        while given.next_element::<IgnoredAny>()?.is_some() {}
        self.no_text("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut given: A) -> Result<T, A::Error> {
        while given.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.no_text("an object")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskId;

    #[test]
    fn a_refusal_goes_through_a_text_and_back() {
        let refusal = "x\"\u{1}\n".parse::<TaskId>().unwrap_err();
        assert_eq!(unpack(&format!("{refusal:#}")), Some(refusal.clone()));
        assert_eq!(refusal.to_string(), refusal.message);
        assert_eq!(unpack(&refusal.message), None);
    }

    #[test]
    fn serde_json_shows_the_sentence_alone() {
        let shown = serde_json::from_str::<TaskId>("\"x\"")
            .unwrap_err()
            .to_string();
        assert!(shown.starts_with("Invalid task id: \"x\"."), "{shown}");
        assert!(!shown.contains(MARK), "{shown}");
    }
}
