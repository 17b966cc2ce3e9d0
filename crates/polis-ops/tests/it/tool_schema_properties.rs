//! Property tests: schemas and accepted parameters agree, and no input makes a tool fail in any way other
//! than a refusal.

use std::sync::LazyLock;

use polis_core::RefusalKind;
use polis_i18n::UiLanguage;
use polis_ops::OpError;
use polis_ops::tool::{TOOLS, Tool, ToolEffect, ToolOutput};
use polis_testkit::SeededRng;
use polis_testkit::store_factory::parse_agent_id;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tokio::runtime::Builder;

use crate::refusal_text::find_cli_syntax;
use crate::test_installation::{TestInstallation, schema_value};
use polis_testkit::json_schema_validator::{find_violation, is_valid};

/// A tool with its schemas and definition, built once.
struct ToolSchemas {
    tool: &'static Tool,
    input: Value,
    output: Value,
    definition: Value,
}

static TOOL_SCHEMAS: LazyLock<Vec<ToolSchemas>> = LazyLock::new(|| {
    let said = |tool: &'static Tool| ToolSchemas {
        input: schema_value((tool.input_schema)()),
        output: schema_value((tool.output_schema)()),
        definition: tool.mcp_definition(Default::default(), UiLanguage::En),
        tool,
    };
    TOOLS.iter().map(said).collect()
});

/// Message of the parameter deserializer for malformed parameters.
const INVALID_PARAMETERS: &str = "Invalid parameters";

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
fn random_value(dice: &mut SeededRng, depth: u64) -> Value {
    match dice.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => dice.one_in(2).into(),
        2 => dice.below(5).into(),
        3 => (*dice.choose(&[
            json!(-1),
            json!(1.5),
            json!(3.0),
            json!(1e300),
            json!(u64::MAX),
            json!(1u64 << 40),
        ]))
        .clone(),
        4 | 5 => (*dice.choose(TEXTS)).into(),
        6 => (0..dice.below(3))
            .map(|_| random_value(dice, depth - 1))
            .collect(),
        _ => {
            let members = (0..dice.below(3)).map(|_| {
                let name = (*dice.choose(TEXTS)).to_owned();
                (name, random_value(dice, depth - 1))
            });
            Value::Object(members.collect())
        }
    }
}

/// Returns a value that a schema accepts.
fn random_matching_value(schema: &Value, dice: &mut SeededRng) -> Value {
    for several in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(several).and_then(Value::as_array) {
            let choice = dice.choose(choices).clone();
            return random_matching_value(&choice, dice);
        }
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    let named = match schema.get("type") {
        Some(Value::Array(types)) => dice.choose(types).clone(),
        Some(one) => one.clone(),
        None => return random_value(dice, 2),
    };
    match named.as_str().unwrap() {
        "null" => Value::Null,
        "boolean" => dice.one_in(2).into(),
        "integer" => match dice.below(4) {
            0 => schema.get("maximum").cloned().unwrap_or_else(|| json!(0)),
            1 => json!(2.0),
            _ => dice.below(4).into(),
        },
        "number" => json!(1.5),
        "array" => {
            let items = &schema["items"];
            (0..dice.below(3))
                .map(|_| random_matching_value(items, dice))
                .collect()
        }
        "object" => random_value(dice, 2)
            .as_object()
            .cloned()
            .unwrap_or_default()
            .into(),
        "string" if schema.get("pattern").is_some() => (1 + dice.below(3)).to_string().into(),
        "string" if schema.get("format").is_some() => "2026-02-15T00:00:00Z".into(),
        "string" => (*dice.choose(TEXTS)).into(),
        other => panic!("no type: {other}"),
    }
}

/// Returns parameters for a tool, some of them valid.
fn random_params(input: &Value, dice: &mut SeededRng) -> Map<String, Value> {
    let required = input["required"].as_array().cloned().unwrap_or_default();
    let mut made = Map::new();
    let wrong = dice.below(4);
    for (name, schema) in input["properties"].as_object().into_iter().flatten() {
        let wanted = required.contains(&Value::String(name.clone()));
        let given = (wanted && wrong != 0) || dice.one_in(3);
        if !given {
            continue;
        }
        let fits = wrong > 1 || !dice.one_in(3);
        let one = if fits {
            random_matching_value(schema, dice)
        } else {
            random_value(dice, 2)
        };
        made.insert(name.clone(), one);
    }
    if wrong == 1 && dice.one_in(8) {
        made.insert("another".to_owned(), random_value(dice, 1));
    }
    // Do not wait in tests.
    if made.get("waitMs").is_some_and(Value::is_number) {
        made.insert("waitMs".to_owned(), 0.into());
    }
    made
}

/// Returns whether the result of a call agrees with the tool's schemas.
fn check_against_schemas(
    said: &ToolSchemas,
    given: &Map<String, Value>,
    came: &Result<ToolOutput, OpError>,
) -> Result<bool, TestCaseError> {
    let (input, given) = (&said.input, schema_value(given.clone()));
    let why = find_violation(input, &given);
    let told = format!("{} {given}: {why:?}, {came:?}", said.tool.name);
    match (why.is_none(), came) {
        (true, Err(error)) => {
            prop_assert!(!error.to_string().starts_with(INVALID_PARAMETERS), "{told}");
        }
        (true, Ok(_)) => {}
        (false, came) => {
            let kind = came.as_ref().err().map(OpError::kind);
            prop_assert_eq!(kind, Some(RefusalKind::Invalid), "{}", told);
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
        prop_assert!(is_valid(small, &plain), "{}", told);
    }
    Ok(why.is_none())
}

/// Checks that a caller of tools can follow a refusal's next step.
fn check_hint(tool: &Tool, refused: &ToolOutput) -> Result<(), TestCaseError> {
    let hint = refused.document["error"]["hint"].as_str().unwrap();
    prop_assert!(refused.text.contains(hint), "{}", refused.text);
    prop_assert_eq!(find_cli_syntax(&refused.text), None, "{}", refused.text);
    // Calling the refused tool again does not show why it refused.
    let itself = format!("`{}`", tool.name);
    let mut clauses = hint.split([';', ',']).map(str::trim_start);
    let circular = match tool.effect {
        ToolEffect::ReadOnly => hint.contains(&itself),
        ToolEffect::Additive | ToolEffect::Destructive => {
            clauses.any(|clause| clause.starts_with("see ") && clause.contains(&itself))
        }
    };
    prop_assert!(!circular, "{} says {hint}", tool.name);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
    #[test]
    fn random_params_never_cause_an_internal_error(seed: u64, brief: bool) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let counts = runtime.block_on(async {
            let mut dice = SeededRng::from_seed(seed);
            let world = TestInstallation::new().await;
            let (mut accepted, mut refused) = (0, 0);
            for said in TOOL_SCHEMAS.iter() {
                let given = random_params(&said.input, &mut dice);
                let name = said.tool.name;
                let by = *dice.choose(&["lead", "dev", "user", "stranger"]);
                let came = world.call_as(&parse_agent_id(by), name, schema_value(given.clone()), brief).await;
                if check_against_schemas(said, &given, &came)? { accepted += 1 } else { refused += 1 }
                if let Err(error) = &came {
                    check_hint(said.tool, &ToolOutput::from_error(error, UiLanguage::En, true))?;
                }
                if let Ok(answer) = came {
                    let small = &said.definition["outputSchema"];
                    prop_assert_eq!(find_violation(small, &answer.document), None, "{}", name);
                    prop_assert_eq!(find_violation(&said.output, &answer.document), None, "{}", name);
                    prop_assert!(!answer.text.is_empty(), "{}", name);
                }
            }
            Ok((accepted, refused))
        })?;
        prop_assert!(counts.0 > 10 && counts.1 > 2, "{:?}", counts);
    }
}
