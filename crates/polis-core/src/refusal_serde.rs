//! Transport of refusals through serde errors, and strict deserialization helpers.
//!
//! A type that is parsed from a request rejects invalid input with its own refusal code. But a serde error
//! carries only text, and serde's traits do not admit another type. So the error gets the refusal's message, and
//! the refusal itself waits in a slot of the thread until the reader of the error takes it. Deserialization is
//! synchronous, so it ends on the thread where it began.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::refusal::{NonStringValue, Reason, ReasonArg, Refusal};

thread_local! {
    /// The refusal of the last value that a type of this crate did not accept.
    static LAST_REFUSAL: Cell<Option<Refusal>> = const { Cell::new(None) };
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)
    }
}

impl std::error::Error for Refusal {}

/// Creates a serde error from a refusal, which [`take_refusal`] returns later.
fn refusal_error<E: de::Error>(refusal: Refusal) -> E {
    let error = E::custom(&refusal);
    LAST_REFUSAL.set(Some(refusal));
    error
}

/// Takes the refusal that caused a serde error with this message on the current thread. Returns `None` if the
/// error has another cause.
pub fn take_refusal(message: &str) -> Option<Refusal> {
    // A refusal of a value that was accepted later, as another variant, has a different message.
    LAST_REFUSAL
        .take()
        .filter(|refusal| refusal.to_string() == message)
}

/// Deserializes a value from a JSON string with `parse`. Any other JSON type fails with the refusal code that
/// `parse` uses.
pub(crate) fn deserialize_from_text<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    parse: fn(&str) -> Result<T, Refusal>,
) -> Result<T, D::Error> {
    // With `deserialize_str`, serde_json would refuse the other types itself.
    deserializer.deserialize_any(ParsedTextVisitor {
        parse,
        made: PhantomData,
    })
}

/// Deserializes a JSON object. Unlike serde's derive, it does not accept an array instead. Fails on any other
/// value, and if the object is not a valid `T`.
pub fn deserialize_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

/// Deserializes an optional JSON object; see [`deserialize_object`]. Fails on any other value except null.
pub fn deserialize_optional_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<StrictObject<T>>::deserialize(deserializer)?.map(|object| object.0))
}

/// Deserializes a list of JSON objects; see [`deserialize_object`]. Fails if the value is not a list, or one of
/// its entries is not such an object.
pub fn deserialize_object_list<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let all = Vec::<StrictObject<T>>::deserialize(deserializer)?;
    Ok(all.into_iter().map(|object| object.0).collect())
}

struct StrictObject<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for StrictObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_object(deserializer).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(map))
    }
}

struct ParsedTextVisitor<T> {
    parse: fn(&str) -> Result<T, Refusal>,
    made: PhantomData<T>,
}

impl<T> ParsedTextVisitor<T> {
    fn refuse_non_text<E: de::Error>(&self, found: NonStringValue) -> Result<T, E> {
        // No `parse` function used here accepts the empty text, so this call yields its refusal code.
        Err(match (self.parse)("") {
            Err(refusal) => {
                let reason = Reason::new("value-not-a-string")
                    .with_arg("found", Reason::from(found))
                    .with_arg("next", ReasonArg::HintOf(Box::new(refusal.reason)));
                refusal_error(Refusal::new(refusal.code, reason))
            }
            Ok(_) => E::custom("a JSON string is expected"),
        })
    }

    fn refuse_literal<E: de::Error>(&self, value: impl fmt::Display) -> Result<T, E> {
        let text = value.to_string();
        self.refuse_non_text(NonStringValue::Literal { text })
    }
}

impl<'de, T> Visitor<'de> for ParsedTextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(refusal_error)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<T, E> {
        self.refuse_literal(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        self.refuse_literal(value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        self.refuse_literal(value)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        self.refuse_literal(value)
    }

    fn visit_unit<E: de::Error>(self) -> Result<T, E> {
        self.refuse_literal("null")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<T, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        self.refuse_non_text(NonStringValue::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.refuse_non_text(NonStringValue::Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskId;

    #[test]
    fn refusal_is_taken_once_by_the_reader_of_its_error() {
        let refusal = "x\"\u{1}\n".parse::<TaskId>().unwrap_err();
        let error = serde_json::from_value::<TaskId>("x\"\u{1}\n".into()).unwrap_err();
        assert_eq!(error.to_string(), refusal.to_string());
        assert_eq!(take_refusal(&error.to_string()), Some(refusal));
        assert_eq!(take_refusal(&error.to_string()), None);
    }

    #[test]
    fn refusal_of_an_earlier_value_is_not_taken() {
        assert!(serde_json::from_value::<TaskId>("x".into()).is_err());
        let other = serde_json::from_value::<u32>("y".into()).unwrap_err();
        assert_eq!(take_refusal(&other.to_string()), None);
    }
}
