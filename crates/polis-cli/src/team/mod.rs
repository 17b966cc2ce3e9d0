//! Teams: the roles a run starts with, as Markdown files that people edit.
//!
//! A team is a directory of role files (`root.md` is root's) and `requirement.md`, a template that turns the user's
//! requirement into root's first message. Built-in teams are compiled in. A file below `.agent-workspace/teams/NAME/`
//! overrides the built-in file of its name, and a directory there may define a new team.

mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use polis_core::society::role::CreateRole;
use polis_core::{Code, Refusal, id};
use polis_ops::PortError;
use serde::Serialize;

pub(crate) use file::RoleFile;

use crate::config::Config;

/// Directory of the project's own team files, below `.agent-workspace`.
pub(crate) const DIRECTORY: &str = "teams";
/// Name of the requirement template.
const REQUIREMENT: &str = "requirement";
/// Maximum size of a team file, in bytes.
const LARGEST: u64 = 256 << 10;

/// A built-in file: team, language, name without `.md`, and text.
type Shipped = (&'static str, &'static str, &'static str, &'static str);

macro_rules! shipped {
    ($($team:literal, $language:literal: [$($file:literal),+]);+ $(;)?) => {
        &[$($((
            $team,
            $language,
            $file,
            include_str!(concat!("../../teams/", $team, "/", $language, "/", $file, ".md")),
        )),+),+]
    };
}

/// The built-in teams.
const SHIPPED: &[Shipped] = shipped! {
    "dev-team", "en": ["root", "architect", "programmer", "requirement"];
    "dev-team", "zh": ["root", "architect", "programmer", "requirement"];
};

/// A team, loaded for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Team {
    /// Name of the team.
    pub(crate) name: String,
    /// Roles, by file name.
    pub(crate) roles: BTreeMap<String, RoleFile>,
    requirement: Option<String>,
}

/// A list entry of a team.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    /// Whether it is built in.
    pub(crate) shipped: bool,
    /// The team's files in this project.
    pub(crate) files: Vec<String>,
}

/// Result of writing one team file.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Written {
    /// Path below `.agent-workspace`.
    pub(crate) file: String,
    /// Whether it was written; an existing file is kept.
    pub(crate) written: bool,
}

/// Returns the language of a configuration's teams.
pub(crate) fn language(config: &Config) -> &str {
    match config.society.language.as_str() {
        "" => &config.language,
        set => set,
    }
}

impl Team {
    /// Loads a team: the built-in files, overridden by the files of this project.
    pub(crate) fn find(
        workspace: Option<&Path>,
        name: &str,
        language: &str,
    ) -> Result<Self, PortError> {
        let mut texts: BTreeMap<String, String> = shipped(name, language)
            .map(|(file, text)| (file.to_owned(), text.to_owned()))
            .collect();
        if let Some(directory) = workspace.and_then(|w| directory_of(w, name)) {
            texts.extend(read_directory(&directory)?);
        }
        if texts.is_empty() {
            return Err(unknown(workspace, name).into());
        }
        let requirement = texts.remove(REQUIREMENT);
        let mut roles = BTreeMap::new();
        for (file, text) in texts {
            let role = RoleFile::parse(&text).map_err(|why| invalid(name, &file, &why))?;
            roles.insert(file, role);
        }
        if let Some(text) = &requirement {
            check_template(text, &roles).map_err(|why| invalid(name, REQUIREMENT, &why))?;
        }
        Ok(Self {
            name: name.to_owned(),
            roles,
            requirement,
        })
    }

    /// Renders the requirement template into root's first message.
    pub(crate) fn requirement(&self, user_requirement: &str) -> String {
        let Some(template) = &self.requirement else {
            return user_requirement.to_owned();
        };
        let mut text = String::new();
        // In a single pass, so that a placeholder inside the user's requirement is not expanded.
        for part in parts(template) {
            match part {
                Part::Text(words) => text.push_str(words),
                Part::Place(REQUIREMENT) => text.push_str(user_requirement),
                Part::Place(role) => {
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
    pub(crate) fn create_roles(&self) -> Vec<CreateRole> {
        self.roles.values().map(RoleFile::create).collect()
    }
}

/// Lists the built-in teams and those of the project.
pub(crate) fn list(workspace: Option<&Path>) -> Result<Vec<Listed>, PortError> {
    let mut teams: BTreeMap<String, Listed> = BTreeMap::new();
    let listed = |name: &str, shipped: bool| Listed {
        name: name.to_owned(),
        shipped,
        files: Vec::new(),
    };
    for (name, ..) in SHIPPED {
        teams
            .entry((*name).to_owned())
            .or_insert_with(|| listed(name, true));
    }
    let root = workspace.map(|w| w.join(DIRECTORY));
    for entry in root
        .iter()
        .filter_map(|r| std::fs::read_dir(r).ok())
        .flatten()
    {
        let Ok(entry) = entry else { continue };
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_name(&name) || !entry.path().is_dir() {
            continue;
        }
        let files = read_directory(&entry.path())?;
        let team = teams
            .entry(name.clone())
            .or_insert_with(|| listed(&name, false));
        team.files = files.into_keys().map(|file| file + ".md").collect();
    }
    Ok(teams.into_values().collect())
}

/// Writes the files of a built-in team into the project, for editing. Existing files are kept.
pub(crate) fn init(
    workspace: &Path,
    name: &str,
    language: &str,
) -> Result<Vec<Written>, PortError> {
    let mut files = shipped(name, language).peekable();
    if files.peek().is_none() {
        return Err(unknown(None, name).into());
    }
    let directory = workspace.join(DIRECTORY).join(name);
    let failed = |e: std::io::Error| PortError::internal("Writing the team's files", e);
    std::fs::create_dir_all(&directory).map_err(failed)?;
    let mut answer = Vec::new();
    for (file, text) in files {
        use std::io::Write as _;
        let path = directory.join(format!("{file}.md"));
        let made = std::fs::File::create_new(&path);
        let written = match made {
            Ok(mut made) => {
                made.write_all(text.as_bytes()).map_err(failed)?;
                true
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => false,
            Err(e) => return Err(failed(e)),
        };
        answer.push(Written {
            file: format!("{DIRECTORY}/{name}/{file}.md"),
            written,
        });
    }
    Ok(answer)
}

/// Returns the built-in files of a team in a language: name and text.
fn shipped<'a>(
    team: &'a str,
    language: &'a str,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    SHIPPED
        .iter()
        .filter(move |(t, l, ..)| *t == team && *l == language)
        .map(|(_, _, file, text)| (*file, *text))
}

fn is_name(name: &str) -> bool {
    name.parse::<polis_core::AgentId>().is_ok()
}

/// Returns the project's directory of a team, if it exists. An invalid team name is never used as a path.
fn directory_of(workspace: &Path, name: &str) -> Option<PathBuf> {
    let directory = workspace.join(DIRECTORY).join(name);
    (is_name(name) && directory.is_dir()).then_some(directory)
}

/// Reads the `.md` files of a directory: names without the extension, and texts.
fn read_directory(directory: &Path) -> Result<BTreeMap<String, String>, PortError> {
    let failed = |e: std::io::Error| PortError::internal("Reading the team's files", e);
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let Some(stem) = stem.filter(|_| path.extension().is_some_and(|e| e == "md")) else {
            continue;
        };
        let team = directory.file_name().unwrap_or_default().to_string_lossy();
        if std::fs::metadata(&path).map_err(failed)?.len() > LARGEST {
            return Err(invalid(&team, stem, "it has more than 256 KiB").into());
        }
        let text = std::fs::read_to_string(&path)
            .map_err(|_| invalid(&team, stem, "it cannot be read as text in UTF-8"))?;
        texts.insert(stem.to_owned(), text);
    }
    Ok(texts)
}

/// A part of the requirement template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    /// A placeholder, `{{NAME}}`.
    Place(&'a str),
}

fn parts(template: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, place, after)) = rest.split_once("{{").and_then(|(before, after)| {
        let (place, after) = after.split_once("}}")?;
        Some((before, place, after))
    }) {
        parts.push(Part::Text(before));
        parts.push(Part::Place(place.trim()));
        rest = after;
    }
    parts.push(Part::Text(rest));
    parts
}

/// Checks that all placeholders can be filled in, and that the requirement is among them.
fn check_template(template: &str, roles: &BTreeMap<String, RoleFile>) -> Result<(), String> {
    let mut names = parts(template).into_iter().filter_map(|part| match part {
        Part::Place(name) => Some(name),
        Part::Text(_) => None,
    });
    if let Some(bad) = names
        .clone()
        .find(|name| *name != REQUIREMENT && !roles.contains_key(*name))
    {
        return Err(format!(
            "{{{{{bad}}}}} is neither the requirement nor a role's file"
        ));
    }
    if names.any(|name| name == REQUIREMENT) {
        return Ok(());
    }
    Err("{{requirement}} is missing in it".to_owned())
}

fn invalid(team: &str, file: &str, why: &str) -> Refusal {
    Refusal::new(
        Code::InvalidConfig,
        format!("{DIRECTORY}/{team}/{file}.md: {why}."),
        "mend the file; `polis society team show` prints what a run would begin with",
    )
}

fn unknown(workspace: Option<&Path>, name: &str) -> Refusal {
    let known: Vec<String> = list(workspace)
        .unwrap_or_default()
        .into_iter()
        .map(|team| team.name)
        .collect();
    Refusal::new(
        Code::TeamNotFound,
        format!("There is no team {}.", id::quoted(name)),
        format!(
            "use one of {}, or put role files into .agent-workspace/{DIRECTORY}/NAME/",
            known.join(", ")
        ),
    )
}

#[cfg(test)]
mod tests;
