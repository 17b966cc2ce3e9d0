//! Use of messages by the other crates: each message is used, and screens have no text of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::catalogue::{Catalogue, CatalogueSource};

fn crates_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn catalogue_source() -> CatalogueSource {
    CatalogueSource::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("locales")).unwrap()
}

fn catalogue() -> Catalogue {
    Catalogue::parse(&catalogue_source()).unwrap()
}

/// Returns the source files of the crates, except those of tests, by their path below `crates/`.
fn source_files() -> BTreeMap<String, String> {
    fn collect(directory: &Path, root: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, found);
            } else if path.extension().is_some_and(|one| one == "rs") {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = crates_directory();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(&root).unwrap() {
        let sources = entry.unwrap().path().join("src");
        if sources.is_dir() && !sources.starts_with(root.join("polis-i18n")) {
            collect(&sources, &root, &mut found);
        }
    }
    found.retain(|name, _| !name.ends_with("/tests.rs") && !name.contains("/tests/"));
    assert!(found.len() > 300, "too few source files found");
    found
}

#[test]
fn every_message_is_used() {
    let mut used = BTreeSet::new();
    for text in source_files().values() {
        for rest in text.split("msg::").skip(1) {
            let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
            used.insert(rest.split(is_end).next().unwrap().to_owned());
        }
    }
    let catalogue = catalogue();
    let unused: Vec<&String> = (catalogue.messages.keys())
        .filter(|id| !used.contains(&id.replace('-', "_")))
        .collect();
    assert!(catalogue.messages.len() > 700, "too few messages found");
    assert!(unused.is_empty(), "unused messages: {unused:?}");
}

/// Two messages of an area with the same texts are one message with two names.
#[test]
fn messages_of_an_area_have_different_texts() {
    let source = catalogue_source();
    let areas: BTreeSet<&String> = source.files.iter().map(|(_, area, _)| area).collect();
    let area_of = |id: &str| {
        let has_area = |area: &&&String| {
            let rest = id.strip_prefix(area.as_str());
            rest.is_some_and(|rest| rest.starts_with('-'))
        };
        let matching = areas.iter().filter(has_area);
        matching.max_by_key(|area| area.len()).unwrap().as_str()
    };
    let mut names: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (id, message) in catalogue().messages {
        let area = area_of(&id).to_owned();
        let texts = (area, format!("{:?}", message.texts));
        names.entry(texts).or_default().push(id);
    }
    let repeated: Vec<_> = names.values().filter(|ids| ids.len() > 1).collect();
    assert!(repeated.is_empty(), "same texts: {repeated:?}");
}

/// Lines that may contain Chinese characters: they are not texts for people, or not to be translated.
const CHINESE_EXCEPTIONS: [(&str, &str, &str); 5] = [
    (
        "polis-view/src/line_wrap.rs",
        "，。、；：？！）】",
        "no line begins with these characters",
    ),
    (
        "polis-view/src/line_wrap.rs",
        "（【《「『",
        "no line ends with these characters",
    ),
    (
        "polis-view/src/event_details.rs",
        "Some(':' | '：'",
        "no space before these characters",
    ),
    (
        "polis-web/src/layout/navigation_bar.rs",
        "\"中文\"",
        "a language's own name",
    ),
    (
        "polis-web/src/page/tasks/task_form.rs",
        "'，' | '、'",
        "separators that users type",
    ),
];

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

#[test]
fn screens_have_no_chinese_text_outside_the_catalogue() {
    let mut unused_exceptions: BTreeSet<_> = CHINESE_EXCEPTIONS.into_iter().collect();
    let mut outside = Vec::new();
    for (name, text) in source_files() {
        let is_screen = ["polis-view/", "polis-web/", "polis-tui/"]
            .iter()
            .any(|one| name.starts_with(one));
        let without_tests = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
        for line in without_tests.lines().filter(|_| is_screen) {
            if line.trim_start().starts_with("//") || !line.contains(is_chinese) {
                continue;
            }
            let exception = (CHINESE_EXCEPTIONS.into_iter())
                .find(|(file, part, _)| name == *file && line.contains(part));
            match exception {
                Some(exception) => drop(unused_exceptions.remove(&exception)),
                None => outside.push(format!("{name}: {}", line.trim())),
            }
        }
    }
    assert!(outside.is_empty(), "move to the catalogue: {outside:#?}");
    assert!(unused_exceptions.is_empty(), "remove {unused_exceptions:?}");
}

/// Models and people read the same refusals, so these have one form of address, as the prompts of models do.
#[test]
fn refusals_and_texts_for_models_address_the_reader_informally() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let refusals = fs::read_dir(root.join("refusals/zh")).unwrap();
    let mut files: Vec<PathBuf> = refusals.map(|entry| entry.unwrap().path()).collect();
    files.push(root.join("definitions/zh/tools.ftl"));
    for entry in fs::read_dir(root.join("locales/zh")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let for_models = ["tool-", "prompt", "mcp", "society.", "command."];
        if for_models.iter().any(|prefix| name.starts_with(prefix)) {
            files.push(entry.path());
        }
    }
    assert!(files.len() > 40, "too few files found");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains('您'), "{}", file.display());
    }
}
