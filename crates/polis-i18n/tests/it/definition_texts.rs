//! Tests of definitions: the mistakes that the build script refuses, the generated tables, and looking up texts.

use polis_i18n::UiLanguage::{En, Zh};
use polis_i18n::{DefinitionTable, definition_text, definitions, find_definition};

use crate::catalogue::CatalogueSource;
use crate::definition_table::render_definitions;

/// Renders the table `tools` of one or two languages.
fn render(texts: &[(&str, &str)]) -> Result<String, Vec<String>> {
    let file = |(language, text): &(&str, &str)| {
        (
            (*language).to_owned(),
            "tools".to_owned(),
            (*text).to_owned(),
        )
    };
    render_definitions(&CatalogueSource {
        files: texts.iter().map(file).collect(),
    })
}

#[test]
fn mistake_in_definitions_is_refused_with_reason() {
    for (en, zh, expected) in [
        (
            "Get = Get.\n    .id = Id.\n",
            "Get = 获取。\n",
            "zh/tools.ftl: `Get.id` is missing",
        ),
        (
            "Get = Get.\n",
            "Put = 存储。\n",
            "en/tools.ftl: `Put` is missing\nzh/tools.ftl: `Get` is missing",
        ),
        (
            "Get = Get { $id }.\n",
            "Get = 获取。\n",
            "en/tools.ftl: `Get` has an argument; definitions have none",
        ),
        (
            "Get = Get.\n    .id = Id.\n    .id = Id.\n",
            "Get = 获取。\n    .id = 编号。\n",
            "en/tools.ftl: `Get` has the attribute `id` twice",
        ),
        (
            "Get = Get.\nGet = Get.\n",
            "Get = 获取。\n",
            "en/tools.ftl: `Get` is defined twice",
        ),
        (
            "Get = Get.\n\nPut = {\n",
            "Get = 获取。\n",
            "en/tools.ftl:4: Expected an inline expression",
        ),
    ] {
        let problems = render(&[("en", en), ("zh", zh)]).unwrap_err();
        assert_eq!(problems.join("\n"), expected, "{en}{zh}");
    }
}

#[test]
fn table_may_be_in_one_language() {
    let source = render(&[("zh", "b =\n    .x = {\"  \"}一\na = 第一行\n    第二行\n")]).unwrap();
    let expected = "static TOOLS_ZH: &[Definition] = &[\n    \
         Definition { id: \"a\", text: Some(\"第一行\\n第二行\"), attributes: &[] },\n    \
         Definition { id: \"b\", text: None, attributes: &[(\"x\", \"  一\")] },\n];\n";
    assert!(source.ends_with(expected), "{source}");
    assert!(source.contains("(Self::Tools, UiLanguage::Zh) => TOOLS_ZH,"));
    assert!(source.contains("(Self::Tools, UiLanguage::En) => &[],"));
}

#[test]
fn texts_are_found_by_name_and_part() {
    for table in DefinitionTable::ALL {
        for lang in [En, Zh] {
            for definition in definitions(table, lang) {
                let id = definition.id();
                assert_eq!(definition_text(table, lang, id, None), definition.text());
                for (name, text) in definition.attributes() {
                    assert_eq!(definition_text(table, lang, id, Some(name)), Some(*text));
                }
            }
        }
    }
    let table = DefinitionTable::Help;
    assert_eq!(
        definition_text(table, Zh, "task-create", None),
        Some("创建任务")
    );
    assert!(definition_text(table, Zh, "task-create", Some("unknown")).is_none());
    assert!(definition_text(table, En, "task-create", None).is_none());
    assert!(find_definition(table, Zh, "unknown").is_none());
}
