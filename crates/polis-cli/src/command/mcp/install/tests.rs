//! Property tests of `polis mcp install` over generated files: our entry is added, the rest is unchanged, and
//! a second installation changes nothing.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::client_table::{ClientProfile, McpClient, SERVER_NAME};
use super::config_location::ConfigFile;
use super::entry_edit::{ConfigFormat, find_entry};
use super::install_plan::{plan_install, plan_uninstall};
use super::jsonc::JsonDialect;
use super::server_launch::ServerLaunch;

fn sample_launch() -> ServerLaunch {
    ServerLaunch {
        program: "/opt/bin/polis".to_owned(),
        arguments: ["mcp", "--agent", "ä", "--dir", "/home/me/my project"]
            .map(str::to_owned)
            .to_vec(),
    }
}

fn sample_file() -> ConfigFile {
    ConfigFile {
        path: "/nowhere".into(),
        display_name: "FILE".to_owned(),
    }
}

/// Returns the tree as text, so that the order of keys counts, without our entry and its otherwise empty
/// parents.
fn render_without_entry(tree: &Value, keys: &[&str]) -> String {
    fn prune(node: &mut Value, keys: &[&str]) -> bool {
        let (Some((key, below)), Value::Object(map)) = (keys.split_first(), &mut *node) else {
            return keys.is_empty() || node.is_null();
        };
        if map.get_mut(*key).is_some_and(|child| prune(child, below)) {
            map.shift_remove(*key);
        }
        map.is_empty()
    }
    // A key without a value is an empty table in YAML.
    let mut tree = tree.clone();
    prune(&mut tree, keys);
    tree.to_string()
}

/// Checks all guarantees for one text. `marks` are comments that it contains, and must still contain after
/// the change.
fn check_guarantees(
    profile: &ClientProfile,
    text: &str,
    marks: &[String],
) -> Result<(), TestCaseError> {
    let before = profile
        .format
        .parse_tree(text)
        .map_err(|error| TestCaseError::fail(format!("{text:?} is not read: {error:?}")))?;
    let keys = profile.entry_path(&before);
    let found = find_entry(&before, &keys).cloned();
    let Ok(done) = plan_install(profile, &sample_file(), text, &sample_launch(), None) else {
        let foreign =
            found.is_some_and(|entry| !profile.is_our_entry(&entry, Some(&sample_launch())));
        let above = &keys[..keys.len() - 1];
        let wrong = (1..=above.len())
            .any(|n| find_entry(&before, &above[..n]).is_some_and(|node| !node.is_object()));
        prop_assert!(foreign || wrong, "refused without a reason: {text:?}");
        return Ok(());
    };
    let new = done.text.clone().unwrap_or_else(|| text.to_owned());
    let after = profile.format.parse_tree(&new).unwrap();
    prop_assert_eq!(
        render_without_entry(&after, &keys),
        render_without_entry(&before, &keys),
        "{:?} became {:?}",
        text,
        new
    );
    prop_assert_eq!(find_entry(&after, &keys), Some(&done.entry));
    for (key, value) in profile.entry_fields(&sample_launch()).0 {
        prop_assert_eq!(done.entry.get(key), Some(&value));
    }
    let existing = found.iter().filter_map(Value::as_object).flatten();
    let ours = profile.entry_fields(&sample_launch()).0;
    for (key, value) in existing.filter(|(key, _)| ours.iter().all(|(ours, _)| ours != key)) {
        prop_assert_eq!(
            done.entry.get(key),
            Some(value),
            "{} of the entry is gone",
            key
        );
    }
    for mark in marks {
        prop_assert!(
            new.contains(mark.as_str()),
            "{:?} is gone from {:?}",
            mark,
            new
        );
    }
    let again = plan_install(profile, &sample_file(), &new, &sample_launch(), None)
        .ok()
        .map(|plan| plan.text);
    prop_assert_eq!(again, Some(None), "a second time changes something");
    let out = plan_uninstall(profile, &sample_file(), &new).ok().flatten();
    let out = out.ok_or_else(|| TestCaseError::fail(format!("not removed: {new:?}")))?;
    let left = profile.format.parse_tree(&out).unwrap();
    prop_assert_eq!(
        render_without_entry(&left, &keys),
        render_without_entry(&before, &keys),
        "{:?} left {:?}",
        new,
        out
    );
    prop_assert!(find_entry(&left, &keys).is_none());
    Ok(())
}

/// Random choices, from bytes that proptest shrinks.
struct ByteChoices {
    bytes: Vec<u8>,
    at: usize,
}

impl ByteChoices {
    fn choose_below(&mut self, bound: usize) -> usize {
        self.at += 1;
        usize::from(self.bytes[self.at % self.bytes.len()]).wrapping_mul(self.at) % bound
    }

    fn choose_from<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.choose_below(choices.len())]
    }
}

fn choice_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..64)
}

fn arbitrary_key() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z]{1,4}",
        1 => ".{0,6}",
        1 => prop::sample::select(vec!["mcpServers", "servers", "mcp", SERVER_NAME, "type", "//", "/*", "}\",", "\u{feff}键"])
            .prop_map(str::to_owned),
    ]
}

fn arbitrary_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i16>().prop_map(|n| json!(f64::from(n) / 8.0)),
        ".{0,12}".prop_map(Value::from),
        Just(json!("/* not, a // comment */ ,]}")),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((arbitrary_key(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Generates a document, with or without servers, with or without an earlier polis entry.
fn arbitrary_document(profile: &'static ClientProfile) -> impl Strategy<Value = Value> {
    let members = prop::collection::vec((arbitrary_key(), arbitrary_value()), 0..6);
    let others = prop::option::of(prop::collection::vec(
        (arbitrary_key(), arbitrary_value()),
        0..4,
    ));
    (
        members,
        others,
        prop::option::of(arbitrary_value()),
        any::<prop::sample::Index>(),
    )
        .prop_map(move |(members, others, own, position)| {
            let mut root: Map<String, Value> = members.into_iter().collect();
            if let Some(others) = others {
                let mut servers: Map<String, Value> = others.into_iter().collect();
                if let Some(own) = own {
                    let mut entry = Map::new();
                    entry.insert("more".to_owned(), own);
                    let old = ServerLaunch {
                        program: "polis".to_owned(),
                        arguments: vec!["mcp".to_owned()],
                    };
                    entry.extend(
                        profile
                            .entry_fields(&old)
                            .0
                            .into_iter()
                            .map(|(k, v)| (k.to_owned(), v)),
                    );
                    let at = position.index(servers.len() + 1);
                    servers.shift_remove(SERVER_NAME);
                    servers.shift_insert(
                        at.min(servers.len()),
                        SERVER_NAME.to_owned(),
                        entry.into(),
                    );
                }
                let at = position.index(root.len() + 1);
                let key = profile.entry_path(&json!({}))[0];
                root.shift_remove(key);
                root.shift_insert(at.min(root.len()), key.to_owned(), servers.into());
            }
            Value::Object(root)
        })
}

/// Writes JSON as people do: with comments, irregular whitespace, trailing commas and duplicate keys.
struct JsoncWriter {
    dice: ByteChoices,
    dialect: JsonDialect,
    end: &'static str,
    marks: Vec<String>,
}

impl JsoncWriter {
    fn write_gap(&mut self, page: &mut String) {
        for _ in 0..self.dice.choose_below(3) {
            let blank = self.dice.choose_from(&["", " ", "\t", "  ", self.end]);
            page.push_str(blank);
        }
        if self.dialect.comments && self.dice.choose_below(6) == 0 {
            let number = self.marks.len();
            let mark = if self.dice.choose_below(2) == 0 {
                format!("// 注 {number} \" }} ,{}", self.end)
            } else {
                format!("/* {number} {{ \" *{}*/", self.end)
            };
            page.push_str(&mark);
            self.marks.push(mark);
        }
    }

    fn write_value(&mut self, value: &Value, page: &mut String) {
        let (open, close, items): (_, _, Vec<(Option<&str>, &Value)>) = match value {
            Value::Object(map) => (
                '{',
                '}',
                map.iter().map(|(k, v)| (Some(k.as_str()), v)).collect(),
            ),
            Value::Array(list) => ('[', ']', list.iter().map(|v| (None, v)).collect()),
            other => return page.push_str(&other.to_string()),
        };
        page.push(open);
        self.write_gap(page);
        let several = items.len();
        for (n, (key, value)) in items.into_iter().enumerate() {
            if let Some(key) = key {
                let name = Value::from(key).to_string();
                if self.dice.choose_below(12) == 0 {
                    page.push_str(&format!("{name}: [0],"));
                    self.write_gap(page);
                }
                page.push_str(&name);
                self.write_gap(page);
                page.push(':');
                self.write_gap(page);
            }
            self.write_value(value, page);
            self.write_gap(page);
            if n + 1 < several || self.dialect.trailing_commas && self.dice.choose_below(3) == 0 {
                page.push(',');
                self.write_gap(page);
            }
        }
        page.push(close);
    }
}

fn arbitrary_json_case(client: McpClient) -> impl Strategy<Value = (McpClient, Value, Vec<u8>)> {
    (
        Just(client),
        arbitrary_document(client.profile()),
        choice_bytes(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn json_install_keeps_other_content(
        (client, document, bytes) in prop_oneof![
            arbitrary_json_case(McpClient::Claude), arbitrary_json_case(McpClient::Gemini), arbitrary_json_case(McpClient::Vscode),
            arbitrary_json_case(McpClient::Cursor), arbitrary_json_case(McpClient::Opencode),
        ],
    ) {
        let profile = client.profile();
        let ConfigFormat::Json(dialect) = profile.format else { panic!("not JSON") };
        let mut choices = ByteChoices { bytes, at: 0 };
        let end = choices.choose_from(&["\n", "\r\n"]);
        let mut scribe = JsoncWriter { dice: choices, dialect, end, marks: Vec::new() };
        let mut text = if dialect.byte_order_mark && scribe.dice.choose_below(4) == 0 { "\u{feff}" } else { "" }.to_owned();
        match scribe.dice.choose_below(4) {
            // As programs write it.
            0 => text.push_str(&serde_json::to_string_pretty(&document).unwrap().replace('\n', end)),
            1 => text.push_str(&document.to_string()),
            _ => {
                scribe.write_gap(&mut text);
                scribe.write_value(&document, &mut text);
                scribe.write_gap(&mut text);
            }
        }
        // A comment inside a replaced value is removed with it.
        let marks = if document.to_string().contains("\"more\":") { Vec::new() } else { scribe.marks };
        prop_assert_eq!(profile.format.parse_tree(&text).ok(), Some(document));
        check_guarantees(profile, &text, &marks)?;
    }

    #[test]
    fn toml_install_keeps_other_content(
        sections in prop::collection::vec(("[a-z]{1,3}", prop::collection::vec(("[a-z]{1,3}", 0..7_usize), 0..4)), 0..6),
        bytes in choice_bytes(),
        old in any::<bool>(),
    ) {
        let mut choices = ByteChoices { bytes, at: 0 };
        let end = choices.choose_from(&["\n", "\r\n"]);
        let values = ["1", "'x # y'", "\"\\u00e4\"", "[1, # c\n 2]", "{ a = 1 }", "1979-05-27", "\"\"\"\na\n[b]\n\"\"\""];
        let (mut text, mut marks, mut heads) = (String::new(), Vec::new(), Vec::new());
        let mut position = choices.choose_below(4);
        for (name, members) in sections {
            let head = match choices.choose_below(3) {
                0 => format!("mcp_servers.{name}"),
                1 => format!("mcp_servers.{name}.env"),
                _ => format!("x.{name}"),
            };
            if heads.contains(&head) {
                continue;
            }
            if old && position == 0 {
                text.push_str(&format!("[mcp_servers.polis]{end}command = 'polis'{end}args = ['mcp']{end}"));
            }
            position = position.wrapping_sub(1);
            if choices.choose_below(3) == 0 {
                let mark = format!("# 注 {} [x]", marks.len());
                text.push_str(&format!("{mark}{end}"));
                marks.push(mark);
            }
            text.push_str(&format!("[{head}]{}{end}", choices.choose_from(&["", " # c", "  "])));
            heads.push(head);
            let mut used = Vec::new();
            for (key, value) in members {
                if !used.contains(&key) && key != "env" {
                    text.push_str(&format!("{key} = {}{end}", values[value].replace('\n', end)));
                    used.push(key);
                }
            }
            if choices.choose_below(3) == 0 {
                text.push_str(end);
            }
        }
        prop_assume!(ConfigFormat::Toml.parse_tree(&text).is_ok());
        check_guarantees(McpClient::Codex.profile(), &text, &marks)?;
    }

    #[test]
    fn yaml_install_keeps_other_content(
        members in prop::collection::vec(("[a-z]{1,4}", 0..8_usize), 0..5),
        extensions in prop::option::of(prop::collection::vec(("[a-z]{1,4}", 0..8_usize), 0..4)),
        bytes in choice_bytes(),
        old in any::<bool>(),
    ) {
        let mut choices = ByteChoices { bytes, at: 0 };
        let end = choices.choose_from(&["\n", "\r\n"]);
        let unit = choices.choose_from(&["  ", "    ", " "]);
        let value = |n: usize, indent: &str| match n {
            0 => " 1".to_owned(),
            1 => " 'it''s # x'  # c".to_owned(),
            2 => format!("{end}{indent}{unit}k: v{end}{indent}{unit}l: [1, {{m: 2}}]"),
            3 => format!("{end}{indent}- a # c{end}{indent}- b"),
            4 => format!(" |{end}{indent}{unit}text{end}{end}{indent}{unit}more"),
            5 => " {a: {b: [1]}}".to_owned(),
            6 => " \"\\u00e4\\\" 用\"".to_owned(),
            _ => format!("{end}{indent}{unit}- n:{end}{indent}{unit}    o: ~"),
        };
        let (mut text, mut marks, mut used) = (String::new(), Vec::new(), vec!["extensions".to_owned()]);
        let position = choices.choose_below(3);
        for (n, (key, kind)) in members.into_iter().chain([("zzzzz".to_owned(), 0)]).enumerate() {
            if let Some(extensions) = extensions.as_ref().filter(|_| n == position) {
                text.push_str(&format!("extensions:{}{end}", choices.choose_from(&["", " # here"])));
                let mut inner: Vec<String> = Vec::new();
                for (key, kind) in extensions {
                    if inner.contains(key) || key == "null" || key == "true" {
                        continue;
                    }
                    if choices.choose_below(3) == 0 {
                        let mark = format!("# 注 {} x: y", marks.len());
                        text.push_str(&format!("{unit}{mark}{end}"));
                        marks.push(mark);
                    }
                    text.push_str(&format!("{unit}{key}:{}{end}", value(*kind, unit)));
                    inner.push(key.clone());
                }
                if old {
                    let items = format!("{unit}{unit}args:{end}{unit}{unit}- mcp{end}");
                    text.push_str(&format!("{unit}polis:{end}{unit}{unit}cmd: polis # c{end}{items}{unit}{unit}more: [1]{end}"));
                }
            }
            if !used.contains(&key) && key != "null" && key != "true" {
                text.push_str(&format!("{key}:{}{end}", value(kind, "")));
                used.push(key);
            }
        }
        prop_assume!(ConfigFormat::Yaml.parse_tree(&text).is_ok());
        check_guarantees(McpClient::Goose.profile(), &text, &marks)?;
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in ".{0,64}", noise in "[\\[\\]{}:,\"'/*#\\-|>&!~ \n\ta-c=]{0,48}") {
        for client in [McpClient::Claude, McpClient::Codex, McpClient::Vscode, McpClient::Goose] {
            for text in [&text, &noise] {
                let profile = client.profile();
                let _ = plan_install(profile, &sample_file(), text, &sample_launch(), None);
                let _ = plan_uninstall(profile, &sample_file(), text);
            }
        }
    }
}
