//! `polis society team`: lists and shows the available teams, and writes their files for editing.

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::Globals;
use crate::context::{Place, WORKSPACE};
use crate::error::Failure;
use crate::output::{Output, Table, clean_lines};
use crate::team;

/// Teams: the roles a run begins with.
#[derive(Debug, Subcommand)]
pub(crate) enum Team {
    /// List the teams there are
    List,
    /// Print what a run of a team begins with
    Show(Named),
    /// Write a shipped team's role files into this directory, for editing
    Init(Named),
}

/// A team.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The team
    #[arg(value_name = "TEAM", default_value = "dev-team")]
    team: String,
    /// The language of its roles; default: as configured
    #[arg(long, value_name = "LANGUAGE", value_parser = ["en", "zh"])]
    lang: Option<String>,
}

impl Team {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let place = Place::find(globals)?;
        let config = place.config()?;
        let workspace = place.workspace.as_deref();
        let language = |named: &Named| {
            let usual = || team::language(&config).to_owned();
            named.lang.clone().unwrap_or_else(usual)
        };
        match self {
            Self::List => {
                let teams = json!({ "teams": team::list(workspace)? });
                out.answer(&teams, |_| {
                    listed(&team::list(workspace).unwrap_or_default(), out)
                })
            }
            Self::Show(named) => {
                let found = team::Team::find(workspace, &named.team, &language(&named))?;
                let answer = json!({ "name": found.name, "roles": found.create_roles() });
                out.answer(&answer, |_| shown(&found))
            }
            Self::Init(named) => {
                let Some(workspace) = workspace else {
                    return Err(crate::error::invalid(
                        "A team's files are kept in a directory, and this store has none here.",
                        "run `polis init` in the project's directory",
                    ));
                };
                let files = team::init(workspace, &named.team, &language(&named))?;
                out.answer(&json!({ "files": files }), |_| written(&files))
            }
        }
    }
}

fn listed(teams: &[team::Listed], out: &Output) -> String {
    let mut table = Table::new(&["TEAM", "SHIPPED", "FILES HERE"]);
    for team in teams {
        let files = if team.files.is_empty() {
            "-".to_owned()
        } else {
            team.files.join(", ")
        };
        let shipped = if team.shipped { "yes" } else { "no" };
        table.row([team.name.clone(), shipped.to_owned(), files]);
    }
    table.render(out)
}

fn shown(team: &team::Team) -> String {
    let mut text = String::new();
    for role in team.roles.values() {
        let tools = role.tools.as_ref();
        let tools = tools.map_or_else(|| "all".to_owned(), |tools| tools.join(", "));
        let model = role.model.as_ref().and_then(|m| m.endpoint.as_deref());
        text.push_str(&format!(
            "# {}\ntools: {tools}\nmodel: {}\n\n{}\n\n",
            role.name,
            model.unwrap_or("the usual one"),
            role.prompt
        ));
    }
    clean_lines(&text)
}

fn written(files: &[team::Written]) -> String {
    let mut text = String::new();
    for file in files {
        let what = if file.written { "Wrote" } else { "Kept" };
        text.push_str(&format!("{what} {WORKSPACE}/{}\n", file.file));
    }
    text.push_str("\nEdit them; runs that are started from now on begin with what they say.");
    text
}
