//! Tests of the catalogue of refusals: every refusal has a text and a next step in each language and for each
//! surface, uses its arguments, and names only what its surface has. `refusals.en.txt` and `refusals.zh.txt`
//! show all of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use polis_cli::refusal_tables::CliCode;
use polis_core::RefusalCode;
use polis_core::refusal::{CORE_REASONS, Reason, ReasonSpec};
use polis_i18n::{
    Surface, UiLanguage, describe_code, message_arguments, message_ids, render_reason,
};
use polis_ops::tool::TOOLS;
use polis_serve::refusal_tables::HttpCode;
use polis_society::refusal_tables::SocietyCode;

const LANGUAGES: [UiLanguage; 2] = [UiLanguage::En, UiLanguage::Zh];

/// Messages that are not declared in a table: texts that any refusal can have.
const COMMON_MESSAGES: [&str; 2] = ["tool-own-hint", "value-not-a-string"];

/// Refusals that only the command line shows, for example at the start of a program.
const CLI_PREFIXES: [&str; 5] = ["command-", "install-", "listen-", "project-", "terminal-"];

/// Refusals of calls that only members and connected agents make: their hints name tools on every surface.
const AGENT_MESSAGES: [&str; 10] = [
    "mcp-binary-too-large",
    "member-call-denied",
    "member-call-denied-with-note",
    "operation-no-role-given",
    "operation-person-mailbox",
    "society-member-cannot-start-run",
    "society-role-not-found",
    "society-root-has-child",
    "society-too-many-agents",
    "society-too-many-listed",
];

/// Returns the messages that all crates declare.
fn declared_messages() -> Vec<&'static ReasonSpec> {
    let other_crates: [&[ReasonSpec]; 30] = [
        polis_cli::refusal_tables::ClientFileProblem::SPECS,
        polis_cli::refusal_tables::CommandRefusal::SPECS,
        polis_cli::refusal_tables::ConfigProblem::SPECS,
        polis_cli::refusal_tables::InstallPart::SPECS,
        polis_cli::refusal_tables::InstallRefusal::SPECS,
        polis_cli::refusal_tables::ProjectRefusal::SPECS,
        polis_cli::refusal_tables::RbacProblem::SPECS,
        polis_cli::refusal_tables::TomlType::SPECS,
        polis_cli::refusal_tables::YamlProblem::SPECS,
        polis_ops::refusal_tables::JsonProblem::SPECS,
        polis_ops::refusal_tables::OperationRefusal::SPECS,
        polis_ops::refusal_tables::ParameterProblem::SPECS,
        polis_ops::refusal_tables::PortFailure::SPECS,
        polis_ops::refusal_tables::ToolRefusal::SPECS,
        polis_serve::refusal_tables::ConnectionProblem::SPECS,
        polis_serve::refusal_tables::DeliveryProblem::SPECS,
        polis_serve::refusal_tables::EventRefusal::SPECS,
        polis_serve::refusal_tables::HttpRefusal::SPECS,
        polis_serve::refusal_tables::ListenRefusal::SPECS,
        polis_serve::refusal_tables::McpRefusal::SPECS,
        polis_society::refusal_tables::MemberRefusal::SPECS,
        polis_society::refusal_tables::ModelRefusal::SPECS,
        polis_store::store_failure::StoreFailure::SPECS,
        polis_tui::refusal_tables::TerminalRefusal::SPECS,
        polis_web::refusal_tables::PageRefusal::SPECS,
        polis_workspace::refusal_tables::BindingRefusal::SPECS,
        polis_workspace::refusal_tables::FileRefusal::SPECS,
        polis_workspace::refusal_tables::SandboxProblem::SPECS,
        polis_workspace::refusal_tables::SandboxRefusal::SPECS,
        polis_workspace::refusal_tables::SandboxStep::SPECS,
    ];
    CORE_REASONS
        .iter()
        .copied()
        .chain(other_crates)
        .flatten()
        .collect()
}

/// Returns the refusals among them, each with arguments that show their names.
fn sample_refusals() -> Vec<(&'static ReasonSpec, RefusalCode, Reason)> {
    let specs = declared_messages().into_iter();
    let with_code = specs.filter_map(|spec| spec.code.map(|code| (spec, code)));
    with_code
        .map(|(spec, code)| {
            let reason = spec.args.iter().fold(Reason::new(spec.id), |reason, name| {
                reason.with_arg(name, format!("<{name}>"))
            });
            (spec, code, reason)
        })
        .collect()
}

fn has_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

fn names_command_or_option(text: &str) -> bool {
    let is_option = |(at, _): (usize, &str)| {
        let before = text[..at].chars().last();
        let after = text[at + 2..].chars().next();
        before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '-')
            && after.is_some_and(|c| c.is_ascii_lowercase())
    };
    text.contains("`polis ") || text.match_indices("--").any(is_option)
}

fn names_tool(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| TOOLS.iter().any(|tool| tool.name == word))
}

#[test]
fn every_declared_refusal_has_a_message_that_uses_its_arguments() {
    let mut ids = BTreeSet::new();
    for spec in declared_messages() {
        assert!(ids.insert(spec.id), "{} is declared twice", spec.id);
        let declared: BTreeSet<&str> = spec.args.iter().copied().collect();
        assert_eq!(message_arguments(spec.id), Some(declared), "{}", spec.id);
    }
    assert!(ids.len() > 300, "{}", ids.len());
    for id in message_ids() {
        let is_known = ids.contains(id) || id.starts_with("code-") || COMMON_MESSAGES.contains(&id);
        assert!(is_known, "no refusal has the message {id}");
    }
}

#[test]
fn every_code_has_a_title_in_both_languages() {
    let mut names = BTreeSet::new();
    let codes = [
        RefusalCode::ALL,
        HttpCode::ALL,
        SocietyCode::ALL,
        CliCode::ALL,
    ];
    for code in codes.into_iter().flatten() {
        assert!(names.insert(code.as_str()), "{code} is declared twice");
        assert_eq!(describe_code(*code, UiLanguage::En), code.description());
        assert!(has_chinese(describe_code(*code, UiLanguage::Zh)), "{code}");
    }
}

#[test]
fn every_refusal_renders_on_every_surface() {
    for (spec, _, reason) in sample_refusals() {
        for lang in LANGUAGES {
            for surface in Surface::ALL {
                let text = render_reason(&reason, surface, lang);
                let shown = format!("{} {surface:?} {lang:?}: {text:?}", spec.id);
                assert!(!text.message.is_empty() && !text.hint.is_empty(), "{shown}");
                for part in [&text.message, &text.hint] {
                    let is_argument =
                        part.starts_with('<') && part.find('>') == Some(part.len() - 1);
                    let is_chinese = lang == UiLanguage::Zh && !is_argument;
                    assert_eq!(has_chinese(part), is_chinese, "{shown}");
                }
            }
        }
    }
}

#[test]
fn hints_name_only_what_their_surface_has() {
    for (spec, code, reason) in sample_refusals() {
        let is_for_cli = CLI_PREFIXES
            .iter()
            .any(|prefix| spec.id.starts_with(prefix));
        let is_for_agents = AGENT_MESSAGES.contains(&spec.id);
        for lang in LANGUAGES {
            let hint = |surface| render_reason(&reason, surface, lang).hint;
            let name = spec.id;
            for surface in [Surface::Tool, Surface::Http] {
                let hint = hint(surface);
                assert!(
                    is_for_cli || !names_command_or_option(&hint),
                    "{name}: {hint}"
                );
            }
            for surface in [Surface::Cli, Surface::Http] {
                let hint = hint(surface);
                assert!(is_for_agents || !names_tool(&hint), "{name}: {hint}");
            }
            let text = render_reason(&reason, Surface::Screen, lang);
            assert!(!names_tool(&text.hint), "{name}: {}", text.hint);
            // Only `polis open` creates a link to sign in with.
            let is_sign_in = code == RefusalCode::UNAUTHORIZED;
            let may_name = is_sign_in || is_for_cli;
            assert!(
                may_name || !names_command_or_option(&text.hint),
                "{name}: {}",
                text.hint
            );
        }
    }
}

/// Set `POLIS_WRITE_REFERENCE` to write the files.
#[test]
fn refusal_texts_match_their_snapshots() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/document");
    for lang in LANGUAGES {
        let file = directory.join(format!("refusals.{}.txt", lang.code()));
        let actual = render_snapshot(lang);
        if std::env::var_os("POLIS_WRITE_REFERENCE").is_some() {
            std::fs::write(&file, &actual).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap();
        for (actual, expected) in actual.lines().zip(expected.lines()) {
            assert_eq!(actual, expected, "{}", file.display());
        }
        assert_eq!(actual.len(), expected.len(), "{}", file.display());
    }
}

/// Renders all refusals by code: the sentence, and the next step of each surface. Surfaces with the same text
/// share a line.
fn render_snapshot(lang: UiLanguage) -> String {
    let mut refusals = sample_refusals();
    refusals.sort_by_key(|(spec, code, _)| (code.as_str(), spec.id));
    let mut text = String::new();
    let mut last_code = None;
    for (spec, code, reason) in refusals {
        if last_code.replace(code) != Some(code) {
            let _ = writeln!(text, "# {code}: {}", describe_code(code, lang));
        }
        let _ = writeln!(text, "\n{}", spec.id);
        let rendered = Surface::ALL.map(|surface| render_reason(&reason, surface, lang));
        let messages = rendered.each_ref().map(|one| one.message.as_str());
        let hints = rendered.each_ref().map(|one| one.hint.as_str());
        write_variants(&mut text, messages);
        write_variants(&mut text, hints);
        text.push('\n');
    }
    text
}

/// Writes the texts of the four surfaces; equal ones together.
fn write_variants(text: &mut String, variants: [&str; 4]) {
    let mut written: Vec<&str> = Vec::new();
    for variant in variants {
        if written.contains(&variant) {
            continue;
        }
        written.push(variant);
        let surfaces = Surface::ALL.iter().zip(variants);
        let names: Vec<String> = surfaces
            .filter(|(_, other)| *other == variant)
            .map(|(surface, _)| format!("{surface:?}").to_lowercase())
            .collect();
        let label = if names.len() == Surface::ALL.len() {
            "all".to_owned()
        } else {
            names.join(", ")
        };
        let _ = writeln!(text, "  {label}: {}", variant.replace('\n', "\n    "));
    }
}
