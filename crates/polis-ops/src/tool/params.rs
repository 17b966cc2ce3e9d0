//! Deserializes a tool's parameters from JSON into the operation's type.
//!
//! This is serde's work. The deserializer here preserves two things that serde_json loses: which field is invalid, and
//! the error code with which a field's own type refuses a value.

use std::fmt;

use polis_core::{Code, Refusal, refusal_serde};
use serde::Deserializer;
use serde::de::value::StringDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// Deserializes a tool's parameters.
pub(super) fn read<T: DeserializeOwned>(given: Map<String, Value>) -> Result<T, Refusal> {
    T::deserialize(Given(Value::Object(given))).map_err(Fault::refusal)
}

/// Returns the field names that a tool's parameters are deserialized from. A schema does not contain serde's aliases.
pub(super) fn names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // Deserialization ends with an error as soon as the names are known.
    let _ = T::deserialize(FieldNames(&mut names));
    names
}

/// Deserializer that reads no value, but records the field names that a struct requests.
struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        Err(de::Error::custom("there is no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Deserialization error with its location.
#[derive(Debug)]
struct Fault {
    /// Path to the value, innermost first.
    path: Vec<String>,
    /// The refusal of the field's own type, if any.
    refusal: Option<Refusal>,
    message: String,
}

impl Fault {
    fn at(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }

    fn refusal(self) -> Refusal {
        if let Some(refusal) = self.refusal {
            return refusal;
        }
        let mut place = String::new();
        for step in self.path.iter().rev() {
            place.push_str(step);
        }
        let place = match place.strip_prefix('.') {
            Some(field) => format!("{}: ", polis_core::id::quoted(field)),
            None => String::new(),
        };
        Refusal::new(
            Code::InvalidInput,
            format!(
                "The parameters do not form a request: {place}{}.",
                self.message
            ),
            "look at the tool's input schema",
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(told: T) -> Self {
        // The alternate format of a refusal contains the complete refusal.
        let text = format!("{told:#}");
        match refusal_serde::unpack(&text) {
            Some(refusal) => Self {
                path: Vec::new(),
                message: refusal.message.clone(),
                refusal: Some(refusal),
            },
            None => Self {
                path: Vec::new(),
                refusal: None,
                message: text,
            },
        }
    }
}

/// A JSON value as a serde deserializer.
struct Given(Value);

/// Returns the value of an integer written with a decimal point. JSON Schema counts such a number as an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole, and within the bounds of the type"
)]
fn whole(value: &Value) -> Option<u64> {
    const END: f64 = 18_446_744_073_709_551_616.0;
    let Value::Number(number) = value else {
        return None;
    };
    let number = number.as_f64().filter(|_| number.is_f64())?;
    (number.fract() == 0.0 && (0.0..END).contains(&number)).then_some(number as u64)
}

impl<'de> Deserializer<'de> for Given {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(given) => visitor.visit_bool(given),
            Value::String(given) => visitor.visit_string(given),
            Value::Array(given) => visitor.visit_seq(Elements {
                left: given.into_iter(),
                next: 0,
            }),
            Value::Object(given) => visitor.visit_map(Members {
                left: given.into_iter(),
                value: None,
            }),
            Value::Number(given) => match (given.as_u64(), given.as_i64(), given.as_f64()) {
                (Some(number), ..) => visitor.visit_u64(number),
                (None, Some(number), _) => visitor.visit_i64(number),
                (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match whole(&self.0) {
            Some(number) => visitor.visit_u64(number),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Value::String(name) => {
                let name: StringDeserializer<Fault> = name.into_deserializer();
                visitor.visit_enum(name)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    /// Only raw JSON that is kept byte for byte uses such a newtype, and serde_json handles it.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let read = self.0.deserialize_newtype_struct(name, visitor);
        read.map_err(de::Error::custom)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Elements {
    left: std::vec::IntoIter<Value>,
    next: usize,
}

impl<'de> SeqAccess<'de> for Elements {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(value) = self.left.next() else {
            return Ok(None);
        };
        let at = self.next;
        self.next += 1;
        let read = seed.deserialize(Given(value));
        read.map(Some).map_err(|fault| fault.at(format!("[{at}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

struct Members {
    left: serde_json::map::IntoIter,
    value: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Members {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some((name, value)) = self.left.next() else {
            return Ok(None);
        };
        self.value = Some((name.clone(), value));
        seed.deserialize(Given(Value::String(name))).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let (name, value) = self
            .value
            .take()
            .ok_or_else(|| de::Error::custom("a value without a name"))?;
        let read = seed.deserialize(Given(value));
        read.map_err(|fault| fault.at(format!(".{name}")))
    }
}
