//! Property tests: schemas and accepted parameters agree, and no input makes a tool fail in any way other than a
//! refusal.

use std::sync::LazyLock;

use polis_core::Kind;
use polis_ops::OpError;
use polis_ops::tool::{Answer, Effect, TOOLS, Tool};
use polis_testkit::Dice;
use polis_testkit::test_store::agent;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tokio::runtime::Builder;

use crate::json_schema::{accepts, fault};
use crate::refusals::command_line_words;
use crate::world::{World, value};

/// A tool with its schemas and definition, built once.
struct Said {
    tool: &'static Tool,
    input: Value,
    output: Value,
    definition: Value,
}

static SAID: LazyLock<Vec<Said>> = LazyLock::new(|| {
    let said = |tool: &'static Tool| Said {
        input: value((tool.input)()),
        output: value((tool.output)()),
        definition: tool.definition(Default::default()),
        tool,
    };
    TOOLS.iter().map(said).collect()
});

/// Message of the parameter deserializer for malformed parameters.
const SHAPE: &str = "The parameters do not form a request";

/// Texts that are valid values for some parameters, and some that are not.
const TEXTS: &[&str] = &[
    "",
    "1",
    "2",
    "07",
    "-1",
    "a",
    "lead",
    "dev",
    "user",
    "global",
    "top",
    "bottom/dev",
    "mid/x",
    "../x",
    "a/b.md",
    "tasks/1/status.md",
    "pending",
    "completed",
    "set",
    "append",
    "overwrite",
    "propose",
    "sign",
    "2026-02-15T00:00:00Z",
    "bug_fix",
    "role:architect",
    "utf8",
    "长\u{0}文",
    "\u{1}{}",
    "# A\n\ntext\n",
];

/// Returns arbitrary JSON.
fn anything(dice: &mut Dice, depth: u64) -> Value {
    match dice.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => dice.once_in(2).into(),
        2 => dice.below(5).into(),
        3 => (*dice.pick(&[
            json!(-1),
            json!(1.5),
            json!(3.0),
            json!(1e300),
            json!(u64::MAX),
            json!(1u64 << 40),
        ]))
        .clone(),
        4 | 5 => (*dice.pick(TEXTS)).into(),
        6 => (0..dice.below(3))
            .map(|_| anything(dice, depth - 1))
            .collect(),
        _ => {
            let members = (0..dice.below(3)).map(|_| {
                let name = (*dice.pick(TEXTS)).to_owned();
                (name, anything(dice, depth - 1))
            });
            Value::Object(members.collect())
        }
    }
}

/// Returns a value that a schema accepts.
fn fitting(schema: &Value, dice: &mut Dice) -> Value {
    for several in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(several).and_then(Value::as_array) {
            let choice = dice.pick(choices).clone();
            return fitting(&choice, dice);
        }
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    let named = match schema.get("type") {
        Some(Value::Array(types)) => dice.pick(types).clone(),
        Some(one) => one.clone(),
        None => return anything(dice, 2),
    };
    match named.as_str().unwrap() {
        "null" => Value::Null,
        "boolean" => dice.once_in(2).into(),
        "integer" => match dice.below(4) {
            0 => schema.get("maximum").cloned().unwrap_or_else(|| json!(0)),
            1 => json!(2.0),
            _ => dice.below(4).into(),
        },
        "number" => json!(1.5),
        "array" => {
            let items = &schema["items"];
            (0..dice.below(3)).map(|_| fitting(items, dice)).collect()
        }
        "object" => anything(dice, 2)
            .as_object()
            .cloned()
            .unwrap_or_default()
            .into(),
        "string" if schema.get("pattern").is_some() => (1 + dice.below(3)).to_string().into(),
        "string" if schema.get("format").is_some() => "2026-02-15T00:00:00Z".into(),
        "string" => (*dice.pick(TEXTS)).into(),
        other => panic!("no type: {other}"),
    }
}

/// Returns parameters for a tool, some of them valid.
fn params(input: &Value, dice: &mut Dice) -> Map<String, Value> {
    let required = input["required"].as_array().cloned().unwrap_or_default();
    let mut made = Map::new();
    let wrong = dice.below(4);
    for (name, schema) in input["properties"].as_object().into_iter().flatten() {
        let wanted = required.contains(&Value::String(name.clone()));
        let given = (wanted && wrong != 0) || dice.once_in(3);
        if !given {
            continue;
        }
        let fits = wrong > 1 || !dice.once_in(3);
        let one = match fits {
            true => fitting(schema, dice),
            false => anything(dice, 2),
        };
        made.insert(name.clone(), one);
    }
    if wrong == 1 && dice.once_in(8) {
        made.insert("another".to_owned(), anything(dice, 1));
    }
    // Do not wait in tests.
    if made.get("waitMs").is_some_and(Value::is_number) {
        made.insert("waitMs".to_owned(), 0.into());
    }
    made
}

/// Returns whether the result of a call agrees with the tool's schemas.
fn agrees(
    said: &Said,
    given: &Map<String, Value>,
    came: &Result<Answer, OpError>,
) -> Result<bool, TestCaseError> {
    let (input, given) = (&said.input, value(given.clone()));
    let why = fault(input, &given);
    let told = format!("{} {given}: {why:?}, {came:?}", said.tool.name);
    match (why.is_none(), came) {
        (true, Err(error)) => prop_assert!(!error.to_string().starts_with(SHAPE), "{told}"),
        (true, Ok(_)) => {}
        (false, came) => {
            let kind = came.as_ref().err().map(OpError::kind);
            prop_assert_eq!(kind, Some(Kind::Invalid), "{}", told);
        }
    }
    if why.is_none() {
        let required = input["required"].as_array().cloned().unwrap_or_default();
        let mut plain = given;
        plain
            .as_object_mut()
            .unwrap()
            .retain(|name, one| !one.is_null() || required.contains(&Value::String(name.clone())));
        let small = &said.definition["inputSchema"];
        prop_assert!(accepts(small, &plain), "{}", told);
    }
    Ok(why.is_none())
}

/// Checks that a caller of tools can follow a refusal's next step.
fn helps(tool: &Tool, refused: &Answer) -> Result<(), TestCaseError> {
    let hint = refused.document["error"]["hint"].as_str().unwrap();
    prop_assert!(refused.text.contains(hint), "{}", refused.text);
    prop_assert_eq!(command_line_words(&refused.text), None, "{}", refused.text);
    // Calling the refused tool again does not show why it refused.
    let itself = format!("`{}`", tool.name);
    let mut clauses = hint.split([';', ',']).map(str::trim_start);
    let circular = match tool.effect {
        Effect::Look => hint.contains(&itself),
        Effect::Add | Effect::Change => {
            clauses.any(|clause| clause.starts_with("see ") && clause.contains(&itself))
        }
    };
    prop_assert!(!circular, "{} says {hint}", tool.name);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
    #[test]
    fn whatever_is_sent_is_answered_or_refused(seed: u64, brief: bool) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let counts = runtime.block_on(async {
            let mut dice = Dice::of(seed);
            let world = World::new().await;
            let (mut accepted, mut refused) = (0, 0);
            for said in SAID.iter() {
                let given = params(&said.input, &mut dice);
                let name = said.tool.name;
                let by = *dice.pick(&["lead", "dev", "user", "stranger"]);
                let came = world.ask(&agent(by), name, value(given.clone()), brief).await;
                match agrees(said, &given, &came)? {
                    true => accepted += 1,
                    false => refused += 1,
                }
                if let Err(error) = &came {
                    helps(said.tool, &Answer::refused(error, true))?;
                }
                if let Ok(answer) = came {
                    let small = &said.definition["outputSchema"];
                    prop_assert_eq!(fault(small, &answer.document), None, "{}", name);
                    prop_assert_eq!(fault(&said.output, &answer.document), None, "{}", name);
                    prop_assert!(!answer.text.is_empty(), "{}", name);
                }
            }
            Ok((accepted, refused))
        })?;
        prop_assert!(counts.0 > 10 && counts.1 > 2, "{:?}", counts);
    }
}
