//! `polis tui`: starts the terminal user interface.

use std::sync::Arc;

use clap::Args;
use polis_core::{Code, Refusal};
use polis_tui::{Screen, Tab};
use polis_view::Lang;

use crate::cli::Globals;
use crate::context::{Context, Place};
use crate::error::{Failure, invalid};
use crate::output::Output;

/// Watch and steer the team on one screen: tasks, boards, agents, workspaces and events, live. `?` shows the keys,
/// `q` quits.
#[derive(Debug, Args)]
#[command(
    after_help = "It works in 80x24 and over ssh, with the mouse too. NO_COLOR turns colours off; \
boards are edited in $VISUAL or $EDITOR, and a save over somebody else's change is asked for first."
)]
pub(crate) struct Tui {
    /// The first tab: now, tasks, boards, agents, workspaces or events
    #[arg(long, value_name = "NAME", default_value = "now", value_parser = ["now", "tasks", "boards", "agents", "workspaces", "events"])]
    tab: String,
    /// The language, en or zh; default: the configuration's, then that of LANG
    #[arg(long, value_name = "LANG", value_parser = ["en", "zh"])]
    lang: Option<String>,
}

impl Tui {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        if out.is_json() {
            return Err(invalid(
                "The screen has no JSON.",
                "leave --json out, or use `polis watch --json`",
            ));
        }
        let tab = Tab::parse(&self.tab).ok_or_else(|| {
            Refusal::new(
                Code::InvalidInput,
                format!("There is no tab \"{}\".", self.tab),
                "choose one of now, tasks, boards, agents, workspaces, events",
            )
        })?;
        let lang = self.language(globals)?;
        let context = Context::open_serving(globals)?;
        let screen = Screen {
            polis: context.polis.clone(),
            agent: context.agent.clone(),
            lang,
            colour: out.has_colour(),
            tab,
            editor: first_set(&["VISUAL", "EDITOR"]).unwrap_or_else(|| "vi".to_owned()),
            keeper: Arc::default(),
        };
        Ok(context.run(polis_tui::run(screen))?)
    }

    /// Returns the language: the flag, else the configuration, else the locale.
    fn language(&self, globals: &Globals) -> Result<Lang, Failure> {
        let named = self.lang.as_deref().and_then(Lang::parse);
        if let Some(named) = named {
            return Ok(named);
        }
        let place = Place::find(globals)?;
        if place.workspace.is_some()
            && let Some(set) = Lang::parse(&place.config()?.language)
        {
            return Ok(set);
        }
        let shell = first_set(&["LC_ALL", "LC_MESSAGES", "LANG"]);
        let shell = shell.as_deref().and_then(Lang::parse);
        Ok(shell.unwrap_or_default())
    }
}

/// Returns the value of the first of these environment variables that is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "a person's language and editor are only in the environment"
)]
fn first_set(names: &[&str]) -> Option<String> {
    names
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.trim().is_empty())
}
