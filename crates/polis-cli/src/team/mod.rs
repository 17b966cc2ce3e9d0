//! Team templates: the roles a run starts with, as Markdown files that people edit. [`TeamTemplate::load`]
//! reads one.
//!
//! A team is a directory of role files (`root.md` is root's) and `requirement.md`, a template that turns the
//! person's requirement into root's first message. Built-in teams are compiled in. A file below
//! `.agent-workspace/teams/NAME/` overrides the built-in file of its name, and a directory there may define a
//! new team.

mod role_file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use polis_core::society::society_role::CreateRoleParams;
use polis_core::{Refusal, id};
use polis_ops::PortError;
use serde::Serialize;

use crate::refusal_tables::ProjectRefusal;

pub(crate) use role_file::RoleFile;

use crate::config::Config;

/// Directory of the project's own team files, below `.agent-workspace`.
pub(crate) const TEAMS_DIR: &str = "teams";
/// Name of the requirement template.
const REQUIREMENT_TEMPLATE: &str = "requirement";
/// Maximum size of a team file, in bytes.
const MAX_TEAM_FILE_BYTES: u64 = 256 << 10;

/// A built-in file: team, language, name without `.md`, and text.
type BuiltInFile = (&'static str, &'static str, &'static str, &'static str);

macro_rules! built_in_files {
    ($($team:literal, $language:literal: [$($file:literal),+]);+ $(;)?) => {
        &[$($((
            $team,
            $language,
            $file,
            include_str!(concat!("../../teams/", $team, "/", $language, "/", $file, ".md")),
        )),+),+]
    };
}

/// The files of the built-in teams, compiled into the program.
const BUILT_IN_FILES: &[BuiltInFile] = built_in_files! {
    "dev-team", "en": ["root", "architect", "programmer", "requirement"];
    "dev-team", "zh": ["root", "architect", "programmer", "requirement"];
};

/// What is wrong with a team file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TeamFileProblem {
    /// Selects the sentence of the refusal `project-team-file`.
    code: &'static str,
    /// The part of the file that the sentence quotes; empty if it quotes none.
    detail: String,
}

impl TeamFileProblem {
    fn new(code: &'static str) -> Self {
        Self::with_detail(code, String::new())
    }

    fn with_detail(code: &'static str, detail: String) -> Self {
        Self { code, detail }
    }
}

/// A team, loaded for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TeamTemplate {
    /// Name of the team.
    pub(crate) name: String,
    /// Roles, by file name.
    pub(crate) roles: BTreeMap<String, RoleFile>,
    requirement_template: Option<String>,
}

/// A list entry of a team.
#[derive(Debug, Serialize)]
pub(crate) struct TeamListEntry {
    pub(crate) name: String,
    /// Whether it is built in.
    #[serde(rename = "shipped")]
    pub(crate) built_in: bool,
    /// The team's files in this project.
    pub(crate) files: Vec<String>,
}

/// Result of writing one team file.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct TeamFileResult {
    /// Path below `.agent-workspace`.
    pub(crate) file: String,
    /// Whether it was written; an existing file is kept.
    pub(crate) written: bool,
}

/// Returns the configured language of teams: `society.language`, or else `language`.
pub(crate) fn team_language(config: &Config) -> &str {
    match config.society.language.as_str() {
        "" => &config.language,
        set => set,
    }
}

impl TeamTemplate {
    /// Loads a team: the built-in files, overridden by the files of this project. Fails if the team does not
    /// exist or a file is invalid.
    pub(crate) fn load(
        data_dir: Option<&Path>,
        name: &str,
        language: &str,
    ) -> Result<Self, PortError> {
        let mut texts: BTreeMap<String, String> = built_in_files(name, language)
            .map(|(file, text)| (file.to_owned(), text.to_owned()))
            .collect();
        if let Some(directory) = data_dir.and_then(|w| find_team_dir(w, name)) {
            texts.extend(read_team_files(&directory)?);
        }
        if texts.is_empty() {
            return Err(team_not_found(data_dir, name).into());
        }
        let requirement = texts.remove(REQUIREMENT_TEMPLATE);
        let mut roles = BTreeMap::new();
        for (file, text) in texts {
            let role = RoleFile::parse(&text)
                .map_err(|problem| invalid_team_file(name, &file, problem))?;
            roles.insert(file, role);
        }
        if let Some(text) = &requirement {
            check_template(text, &roles)
                .map_err(|problem| invalid_team_file(name, REQUIREMENT_TEMPLATE, problem))?;
        }
        Ok(Self {
            name: name.to_owned(),
            roles,
            requirement_template: requirement,
        })
    }

    /// Renders the requirement template into root's first message.
    pub(crate) fn render_requirement(&self, user_requirement: &str) -> String {
        let Some(template) = &self.requirement_template else {
            return user_requirement.to_owned();
        };
        let mut text = String::new();
        // In a single pass, so that a placeholder inside the person's requirement is not expanded.
        for part in parse_template(template) {
            match part {
                TemplatePart::Text(words) => text.push_str(words),
                TemplatePart::Placeholder(REQUIREMENT_TEMPLATE) => text.push_str(user_requirement),
                TemplatePart::Placeholder(role) => {
                    let prompt = self.roles.get(role).map_or("", |role| &role.prompt);
                    text.push('\n');
                    text.push_str(prompt);
                    text.push('\n');
                }
            }
        }
        text.trim().to_owned()
    }

    /// Returns the roles as parameters for starting a run.
    pub(crate) fn create_roles(&self) -> Vec<CreateRoleParams> {
        self.roles.values().map(RoleFile::to_create_role).collect()
    }
}

/// Lists the built-in teams and those of the project.
pub(crate) fn list_teams(data_dir: Option<&Path>) -> Result<Vec<TeamListEntry>, PortError> {
    let mut teams: BTreeMap<String, TeamListEntry> = BTreeMap::new();
    let listed = |name: &str, shipped: bool| TeamListEntry {
        name: name.to_owned(),
        built_in: shipped,
        files: Vec::new(),
    };
    for (name, ..) in BUILT_IN_FILES {
        teams
            .entry((*name).to_owned())
            .or_insert_with(|| listed(name, true));
    }
    let root = data_dir.map(|w| w.join(TEAMS_DIR));
    for entry in root
        .iter()
        .filter_map(|r| std::fs::read_dir(r).ok())
        .flatten()
    {
        let Ok(entry) = entry else { continue };
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_team_name(&name) || !entry.path().is_dir() {
            continue;
        }
        let files = read_team_files(&entry.path())?;
        let team = teams
            .entry(name.clone())
            .or_insert_with(|| listed(&name, false));
        team.files = files.into_keys().map(|file| file + ".md").collect();
    }
    Ok(teams.into_values().collect())
}

/// Writes the files of a built-in team into the project, for editing. Existing files are kept.
pub(crate) fn write_team_files(
    data_dir: &Path,
    name: &str,
    language: &str,
) -> Result<Vec<TeamFileResult>, PortError> {
    let mut files = built_in_files(name, language).peekable();
    if files.peek().is_none() {
        return Err(team_not_found(None, name).into());
    }
    let directory = data_dir.join(TEAMS_DIR).join(name);
    let failed = |e: std::io::Error| PortError::internal("Writing the team's files", e);
    std::fs::create_dir_all(&directory).map_err(failed)?;
    let mut answer = Vec::new();
    for (file, text) in files {
        use std::io::Write as _;
        let path = directory.join(format!("{file}.md"));
        let created = std::fs::File::create_new(&path);
        let written = match created {
            Ok(mut created) => {
                created.write_all(text.as_bytes()).map_err(failed)?;
                true
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => false,
            Err(e) => return Err(failed(e)),
        };
        answer.push(TeamFileResult {
            file: format!("{TEAMS_DIR}/{name}/{file}.md"),
            written,
        });
    }
    Ok(answer)
}

/// Returns the built-in files of a team in a language: name and text.
fn built_in_files<'a>(
    team: &'a str,
    language: &'a str,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN_FILES
        .iter()
        .filter(move |(t, l, ..)| *t == team && *l == language)
        .map(|(_, _, file, text)| (*file, *text))
}

fn is_team_name(name: &str) -> bool {
    name.parse::<polis_core::AgentId>().is_ok()
}

/// Returns the project's directory of a team, if it exists. An invalid team name is never used as a path.
fn find_team_dir(data_dir: &Path, name: &str) -> Option<PathBuf> {
    let directory = data_dir.join(TEAMS_DIR).join(name);
    (is_team_name(name) && directory.is_dir()).then_some(directory)
}

/// Reads the `.md` files of a directory: names without the extension, and texts.
fn read_team_files(directory: &Path) -> Result<BTreeMap<String, String>, PortError> {
    let failed = |e: std::io::Error| PortError::internal("Reading the team's files", e);
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let Some(stem) = stem.filter(|_| path.extension().is_some_and(|e| e == "md")) else {
            continue;
        };
        let team = directory.file_name().unwrap_or_default().to_string_lossy();
        if std::fs::metadata(&path).map_err(failed)?.len() > MAX_TEAM_FILE_BYTES {
            let problem = TeamFileProblem::new("too-large");
            return Err(invalid_team_file(&team, stem, problem).into());
        }
        let text = std::fs::read_to_string(&path)
            .map_err(|_| invalid_team_file(&team, stem, TeamFileProblem::new("not-utf8")))?;
        texts.insert(stem.to_owned(), text);
    }
    Ok(texts)
}

/// A part of the requirement template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TemplatePart<'a> {
    Text(&'a str),
    /// A placeholder, `{{NAME}}`.
    Placeholder(&'a str),
}

fn parse_template(template: &str) -> Vec<TemplatePart<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, placeholder, after)) =
        rest.split_once("{{").and_then(|(before, after)| {
            let (placeholder, after) = after.split_once("}}")?;
            Some((before, placeholder, after))
        })
    {
        parts.push(TemplatePart::Text(before));
        parts.push(TemplatePart::Placeholder(placeholder.trim()));
        rest = after;
    }
    parts.push(TemplatePart::Text(rest));
    parts
}

/// Checks that all placeholders can be filled in, and that the requirement is among them.
fn check_template(
    template: &str,
    roles: &BTreeMap<String, RoleFile>,
) -> Result<(), TeamFileProblem> {
    let mut names = parse_template(template)
        .into_iter()
        .filter_map(|part| match part {
            TemplatePart::Placeholder(name) => Some(name),
            TemplatePart::Text(_) => None,
        });
    if let Some(bad) = names
        .clone()
        .find(|name| *name != REQUIREMENT_TEMPLATE && !roles.contains_key(*name))
    {
        let placeholder = format!("{{{{{bad}}}}}");
        return Err(TeamFileProblem::with_detail(
            "unknown-placeholder",
            placeholder,
        ));
    }
    if names.any(|name| name == REQUIREMENT_TEMPLATE) {
        return Ok(());
    }
    Err(TeamFileProblem::new("no-requirement"))
}

fn invalid_team_file(team: &str, file: &str, problem: TeamFileProblem) -> Refusal {
    Refusal::from(ProjectRefusal::TeamFile {
        teams_dir: TEAMS_DIR.to_string(),
        team: team.to_string(),
        file: file.to_string(),
        reason: problem.code.to_owned(),
        detail: problem.detail,
    })
}

fn team_not_found(data_dir: Option<&Path>, name: &str) -> Refusal {
    let names: Vec<String> = list_teams(data_dir)
        .unwrap_or_default()
        .into_iter()
        .map(|team| team.name)
        .collect();
    Refusal::from(ProjectRefusal::NoTeam {
        name: id::quote_untrusted(name),
        names: names.join(", "),
        teams_dir: TEAMS_DIR.to_string(),
    })
}

#[cfg(test)]
mod tests;
