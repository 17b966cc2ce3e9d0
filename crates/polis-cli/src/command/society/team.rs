//! `polis society team`: lists and shows the available teams, and writes their files for editing.

use clap::{Args, Subcommand};
use polis_i18n::{UiLanguage, msg};
use serde_json::json;

use crate::cli::GlobalArgs;
use crate::command::init::LanguageArg;
use crate::context::{DATA_DIR_NAME, ProjectLocation};
use crate::error::CliError;
use crate::output::{CliOutput, TextTable, sanitize_lines};
use crate::refusal_tables::ProjectRefusal;
use crate::team;

/// List and show teams (the roles a run starts with), and write their files for editing.
#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// List the available team templates
    List,
    /// Print the roles of a team template
    Show(TeamArg),
    /// Copy the files of a built-in team template into this project, for editing
    Init(TeamArg),
}

/// The team argument of a command. The global flag `--lang` chooses the language of the team's roles.
#[derive(Debug, Args)]
pub(crate) struct TeamArg {
    /// Team
    #[arg(value_name = "TEAM", default_value = "dev-team")]
    team: String,
}

impl TeamCommand {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let location = ProjectLocation::find(globals)?;
        let config = location.load_config()?;
        let data_dir = location.data_dir.as_deref();
        let flag = globals.lang.map(LanguageArg::as_str);
        let language = flag.unwrap_or_else(|| team::team_language(&config));
        match self {
            Self::List => {
                let teams = json!({ "teams": team::list_teams(data_dir)? });
                out.print_result(&teams, |_| {
                    render_team_table(&team::list_teams(data_dir).unwrap_or_default(), out)
                })
            }
            Self::Show(named) => {
                let found = team::TeamTemplate::load(data_dir, &named.team, language)?;
                let answer = json!({ "name": found.name, "roles": found.create_roles() });
                out.print_result(&answer, |_| render_team_roles(&found, out.lang()))
            }
            Self::Init(named) => {
                let Some(data_dir) = data_dir else {
                    return Err(CliError::from(ProjectRefusal::TeamFilesWithoutProject));
                };
                let files = team::write_team_files(data_dir, &named.team, language)?;
                out.print_result(&json!({ "files": files }), |_| {
                    render_written_files(&files, out.lang())
                })
            }
        }
    }
}

fn render_team_table(teams: &[team::TeamListEntry], out: &CliOutput) -> String {
    let lang = out.lang();
    let mut table = TextTable::new(&[
        msg::cli_society_team_column(lang),
        msg::cli_society_built_in_column(lang),
        msg::cli_society_files_column(lang),
    ]);
    for team in teams {
        let files = if team.files.is_empty() {
            "-".to_owned()
        } else {
            team.files.join(msg::common_list_separator(lang))
        };
        let shipped = if team.built_in {
            msg::cli_society_built_in(lang)
        } else {
            msg::cli_society_not_built_in(lang)
        };
        table.push_row([team.name.clone(), shipped.to_owned(), files]);
    }
    table.render(out)
}

fn render_team_roles(team: &team::TeamTemplate, lang: UiLanguage) -> String {
    let mut text = String::new();
    for role in team.roles.values() {
        let tools = role.tools.as_ref();
        let tools = tools.map_or_else(
            || msg::cli_society_all_tools(lang).to_owned(),
            |tools| tools.join(msg::common_list_separator(lang)),
        );
        let model = role.model.as_ref().and_then(|m| m.endpoint.as_deref());
        text.push_str(&format!(
            "# {}\n{}\n{}\n\n{}\n\n",
            role.name,
            msg::cli_society_team_tools(lang, tools),
            msg::cli_society_team_model(
                lang,
                model.unwrap_or(msg::cli_society_default_model(lang))
            ),
            role.prompt
        ));
    }
    sanitize_lines(&text)
}

fn render_written_files(files: &[team::TeamFileResult], lang: UiLanguage) -> String {
    let mut text = String::new();
    for file in files {
        let path = format!("{DATA_DIR_NAME}/{}", file.file);
        text.push_str(&if file.written {
            msg::cli_society_file_written(lang, path)
        } else {
            msg::cli_society_file_kept(lang, path)
        });
        text.push('\n');
    }
    text.push('\n');
    text.push_str(msg::cli_society_edit_team_files(lang));
    text
}
