//! `polis mcp install` and `uninstall`: adds or removes our server in the configuration of an MCP client, and registers
//! the agent that it acts as.
//!
//! Nothing is written before the whole change is known to work: the file is read, and the change made and checked in
//! memory; then the agent is registered, then the file is replaced.

mod client;
mod config_location;
mod edit;
mod file;
mod jsonc;
mod launch;
mod plan;
mod registry;
mod toml;
mod yaml;

use std::path::PathBuf;

use clap::Args;
use polis_core::agent::Agent;
use polis_core::{AgentId, Code, Refusal};
use polis_ops::tool;
use serde::Serialize;
use serde_json::Value;

use client::{Client, Profile};
use config_location::{Named, Scope};
use edit::Field;
use file::Written;
use launch::Launch;
use plan::{Plan, choose, plan, removal};
use registry::register;

use crate::cli::Globals;
use crate::context::{Place, is_postgres};
use crate::error::{Failure, invalid};
use crate::output::{Output, clean};

/// Maximum number of attempts if another process changes the file at the same time.
const ATTEMPTS: usize = 5;

/// Write the server into a program's configuration, and register its agent. Whatever else the file
/// holds stays as it is; a copy is kept beside it; running it twice is harmless.
#[derive(Debug, Args)]
pub(super) struct Install {
    /// The program
    client: Client,
    /// Who the agent in it is; default: the program's name
    // Not the caller's `agent` of the global flags, whose id it would be.
    #[arg(id = "installed_agent", long = "agent", value_name = "ID")]
    agent: Option<String>,
    /// The role of an agent that is new; default: by its name, or backend-leader
    #[arg(long)]
    role: Option<String>,
    /// The groups of tools it is shown; default: usual
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',')]
    tools: Vec<String>,
    /// Whose configuration is written; default: the project's where the program has one
    #[arg(long)]
    scope: Option<Scope>,
    /// Let the program use all tools of polis without asking you (codex, gemini)
    #[arg(long)]
    allow_tools: bool,
    /// Only print what would be written
    #[arg(long)]
    print: bool,
}

/// Take the server out of a program's configuration; its agent stays registered.
#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// The program
    client: Client,
    /// Whose configuration is changed; default: the project's where the program has one
    #[arg(long)]
    scope: Option<Scope>,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    client: &'a str,
    scope: &'a str,
    file: String,
    changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    registered: bool,
    entry: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Debug, Serialize)]
struct Removed<'a> {
    client: &'a str,
    scope: &'a str,
    file: String,
    changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
}

impl Install {
    pub(super) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let profile = self.client.profile();
        let agent: AgentId = self.agent.as_deref().unwrap_or(profile.id).parse()?;
        if AgentId::FIXED.contains(&agent.as_str()) {
            return Err(invalid(
                format!("\"{agent}\" is not an agent that a program can act as."),
                "choose another id with --agent",
            ));
        }
        tool::select(&self.tools)?;
        let project = project(globals)?;
        let launch = Launch::of(&agent, &self.tools, &project)?;
        check_replaced(profile, &launch)?;
        let allow_tools = self.allow_tools.then(|| allow_tools(profile)).transpose()?;
        let scope = scope(profile, self.scope)?;
        let file = choose(profile, scope, &project)?;
        if self.print {
            let plan = plan(profile, &file, "", &launch, allow_tools.as_ref())?;
            return self.print(profile, scope, &file, plan, &agent, out);
        }
        let mut asked: Option<(Agent, bool)> = None;
        for _ in 0..ATTEMPTS {
            let before = file.read()?;
            let plan = plan(
                profile,
                &file,
                before.as_deref().unwrap_or_default(),
                &launch,
                allow_tools.as_ref(),
            )?;
            let (known, new) = match asked.take() {
                Some(known) => known,
                None => register(globals, &agent, self.role.as_deref())?,
            };
            let backup = match &plan.text {
                None => None,
                Some(text) => {
                    let private = scope == Scope::User;
                    match file.replace(before.as_deref(), text, private)? {
                        Written::Done(backup) => backup,
                        Written::Overtaken => {
                            asked = Some((known, new));
                            continue;
                        }
                    }
                }
            };
            let answer = Answer {
                client: profile.id,
                scope: scope.as_str(),
                file: file.path.display().to_string(),
                changed: plan.text.is_some(),
                backup: backup.map(|backup| backup.display().to_string()),
                agent: known.id.to_string(),
                role: Some(known.role.clone()),
                registered: new,
                entry: plan.entry,
                text: None,
            };
            return out.answer(&answer, |answer| {
                told(profile, answer, plan.was_there, known.layer.as_str())
            });
        }
        Err(busy(&file))
    }

    fn print(
        &self,
        profile: &'static Profile,
        scope: Scope,
        file: &Named,
        plan: Plan,
        agent: &AgentId,
        out: &Output,
    ) -> Result<(), Failure> {
        let Plan { text, entry, .. } = plan;
        let text = text.unwrap_or_default();
        out.remark(&format!(
            "For {}. The agent has to be registered: polis agent add {agent} --role ROLE",
            file.path.display(),
        ));
        let answer = Answer {
            client: profile.id,
            scope: scope.as_str(),
            file: file.path.display().to_string(),
            changed: false,
            backup: None,
            agent: agent.to_string(),
            role: self.role.clone(),
            registered: false,
            entry,
            text: Some(text),
        };
        out.answer(&answer, |answer| answer.text.clone().unwrap_or_default())
    }
}

impl Uninstall {
    pub(super) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let profile = self.client.profile();
        let scope = scope(profile, self.scope)?;
        // The entry of a deleted project can still be removed.
        let project = project(globals).or_else(|failure| {
            let here = globals.dir.clone().map_or_else(std::env::current_dir, Ok);
            here.map_err(|_| failure)
        })?;
        let file = choose(profile, scope, &project)?;
        for _ in 0..ATTEMPTS {
            let before = file.read()?;
            let text = before.as_deref().unwrap_or_default();
            let mut answer = Removed {
                client: profile.id,
                scope: scope.as_str(),
                file: file.path.display().to_string(),
                changed: false,
                backup: None,
            };
            if let Some(after) = removal(profile, &file, text)? {
                match file.replace(before.as_deref(), &after, scope == Scope::User)? {
                    Written::Done(backup) => {
                        answer.changed = true;
                        answer.backup = backup.map(|backup| backup.display().to_string());
                    }
                    Written::Overtaken => continue,
                }
            }
            return out.answer(&answer, |answer| {
                let file = clean(&answer.file);
                let Some(backup) = &answer.backup else {
                    return format!("{} does not have polis: {file}", profile.title);
                };
                format!(
                    "Took polis out of {}: {file}\nThe file as it was: {}\nIts agent stays registered.",
                    profile.title,
                    clean(backup)
                )
            });
        }
        Err(busy(&file))
    }
}

/// Returns the scope of the configuration; refuses a scope that the client does not have.
fn scope(profile: &Profile, asked: Option<Scope>) -> Result<Scope, Failure> {
    match (asked, profile.project.is_empty()) {
        (Some(Scope::Project), true) => Err(invalid(
            format!("{} reads no configuration of a project.", profile.title),
            "write the person's own: --scope user",
        )),
        (Some(scope), _) => Ok(scope),
        (None, true) => Ok(Scope::User),
        (None, false) => Ok(Scope::Project),
    }
}

/// Returns the absolute path of the project directory. A store that only the flags name would not be known to the
/// client later, and a URL may contain a password, so it is not written to the file.
fn project(globals: &Globals) -> Result<PathBuf, Failure> {
    let place = Place::find(globals)?;
    if globals.store.as_deref().is_some_and(is_postgres) {
        return Err(invalid(
            "The program would not know the store that --store or POLIS_STORE names.",
            "write it as `store` into .agent-workspace/polis.toml, and leave the flag and the variable out",
        ));
    }
    place.directory().ok_or_else(|| {
        invalid(
            "There is no polis directory that the program could be given.",
            "run `polis init` in your project first",
        )
    })
}

/// Returns the field that lets the client use every tool without asking, if the client supports one.
fn allow_tools(profile: &Profile) -> Result<Field, Failure> {
    profile.allow_tools().map_err(|elsewhere| {
        invalid(
            format!(
                "{} does not keep in a server's entry which tools are allowed.",
                profile.title
            ),
            format!("leave --allow-tools out, and {elsewhere}"),
        )
    })
}

/// Clients expand variables in entries; refuses an entry whose values that would change.
fn check_replaced(profile: &Profile, launch: &Launch) -> Result<(), Failure> {
    let mut texts = launch.arguments.iter().chain([&launch.program]);
    let found = texts.find_map(|text| profile.replaces.iter().find(|mark| text.contains(**mark)));
    match found {
        None => Ok(()),
        Some(mark) => Err(invalid(
            format!(
                "The path of the project or of polis has a \"{mark}\", which {} would replace.",
                profile.title
            ),
            "move it to a path without",
        )),
    }
}

/// Formats the result for a person.
fn told(profile: &Profile, answer: &Answer<'_>, was_there: bool, layer: &str) -> String {
    let (title, file) = (profile.title, clean(&answer.file));
    let mut said = match (answer.changed, was_there) {
        (true, false) => format!("Added polis to {title}: {file}\n"),
        (true, true) => format!("Changed polis in {title}: {file}\n"),
        (false, _) => format!("{title} has polis already; nothing was changed: {file}\n"),
    };
    if let Some(backup) = &answer.backup {
        said.push_str(&format!("The file as it was: {}\n", clean(backup)));
    }
    let (agent, role) = (
        &answer.agent,
        clean(answer.role.as_deref().unwrap_or_default()),
    );
    said.push_str(&if answer.registered {
        format!("Agent {agent} registered: {role} in the {layer} layer.\n")
    } else {
        format!("Agent {agent} is registered as {role}.\n")
    });
    if client::is_off(&answer.entry) {
        said.push_str("The entry is switched off there: switch it on to use it.\n");
    }
    said.push_str(&format!("\nNext: {}.\n", profile.next));
    for note in profile.notes {
        said.push_str(&format!("Note: {note}\n"));
    }
    if answer.scope == Scope::Project.as_str() {
        said.push_str("Note: The entry names paths of this machine; others who share the project run this themselves.\n");
    }
    said
}

fn busy(file: &Named) -> Failure {
    Refusal::new(
        Code::FileBusy,
        format!(
            "{} is being changed by another program again and again.",
            file.shown
        ),
        "close the program that writes it, and run the command again",
    )
    .into()
}

#[cfg(test)]
mod tests;
