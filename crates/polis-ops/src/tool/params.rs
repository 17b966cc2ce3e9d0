//! Deserializes a tool's parameters from JSON. An error names the path of the invalid value, or is the refusal
//! of the type that did not accept it. A whole number such as `5.0` is accepted as an integer.
//!
//! [`field_names`] returns the names that a parameter type accepts, with aliases, which its schema lacks.

use polis_core::society::run_id_json::{RUN_ID, TASK_ID};
use polis_core::{Refusal, refusal_serde};
use serde::Deserializer;
use serde::de::value::Error as StopError;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value};
use serde_path_to_error::{Path, Segment};

use super::parameter_problem::parse_problem;
use crate::refusal_tables::ToolRefusal;

/// Deserializes a tool's parameters. A run may be named by `runId`, `taskId` or both, because results contain
/// both; `runId` takes precedence.
pub(super) fn deserialize_params<T: DeserializeOwned>(
    mut arguments: Map<String, Value>,
) -> Result<T, Refusal> {
    if arguments.contains_key(RUN_ID) && field_names::<T>().contains(&RUN_ID) {
        arguments.remove(TASK_ID);
    }
    let mut arguments = Value::Object(arguments);
    loop {
        let (path, message) = match serde_path_to_error::deserialize(&arguments) {
            Ok(params) => return Ok(params),
            Err(error) => (error.path().clone(), error.inner().to_string()),
        };
        if let Some(refusal) = refusal_serde::take_refusal(&message) {
            return Err(refusal);
        }
        // Each round replaces a number that an integer field did not accept, so the loop ends.
        if !replace_integral_number(&mut arguments, &path) {
            return Err(invalid_params(&path, &message));
        }
    }
}

/// Replaces a whole number written with a decimal point by an integer, as which JSON Schema counts it. Returns
/// whether there was such a number at the path.
fn replace_integral_number(arguments: &mut Value, path: &Path) -> bool {
    let value = path
        .iter()
        .try_fold(arguments, |value, segment| match segment {
            Segment::Seq { index } => value.get_mut(*index),
            Segment::Map { key } => value.get_mut(key),
            Segment::Enum { .. } | Segment::Unknown => None,
        });
    let Some(Value::Number(number)) = value else {
        return false;
    };
    match integral_value(number) {
        Some(integer) => {
            *number = integer.into();
            true
        }
        None => false,
    }
}

/// Returns the value of an integer written with a decimal point.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole, and within the bounds of the type"
)]
fn integral_value(number: &Number) -> Option<u64> {
    const END: f64 = 18_446_744_073_709_551_616.0;
    let number = number.as_f64().filter(|_| number.is_f64())?;
    (number.fract() == 0.0 && (0.0..END).contains(&number)).then_some(number as u64)
}

fn invalid_params(path: &Path, message: &str) -> Refusal {
    let location = match path.iter().len() {
        0 => String::new(),
        _ => format!("{}: ", polis_core::id::quote_untrusted(&path.to_string())),
    };
    Refusal::from(ToolRefusal::InvalidParameters {
        location,
        problem: parse_problem(message),
    })
}

/// Returns the field names that a tool's parameters are deserialized from. A schema does not contain serde's
/// aliases.
pub(super) fn field_names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // Deserialization ends with an error as soon as the names are known.
    let _ = T::deserialize(FieldNameCollector(&mut names));
    names
}

/// Deserializer that reads no value, but records the field names that a struct requests.
struct FieldNameCollector<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNameCollector<'_> {
    type Error = StopError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, StopError> {
        Err(StopError::custom("there is no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, StopError> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
