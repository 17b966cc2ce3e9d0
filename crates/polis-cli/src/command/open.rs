//! `polis open`: opens the web page in a browser, signed in, or prints the link.
//!
//! If no server runs for the project, this process becomes the server, like `polis serve`, and runs until it
//! is stopped.

use std::process::{Command, Stdio};

use clap::Args;
use polis_i18n::msg;

use super::serve::{self, ListeningInfo, PortConflict, ServeArgs};
use crate::cli::GlobalArgs;
use crate::context::{CommandContext, ProjectLocation};
use crate::error::CliError;
use crate::output::CliOutput;
use crate::refusal_tables::CommandRefusal;
use crate::server_lock;

/// Open the web page of this project in a browser, signed in; starts a server if none is running.
#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Only print the link
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    serve: ServeArgs,
}

impl OpenArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let location = ProjectLocation::find(globals)?;
        let use_browser = !self.no_browser;
        let context = CommandContext::open(globals)?;
        let found = context.block_on(async {
            match &location.data_dir {
                Some(workspace) => server_lock::find_running_server(workspace).await,
                None => None,
            }
        });
        let Some(url) = found else {
            drop(context);
            return self
                .serve
                .run_with_callback(globals, out, PortConflict::NextPort, |info| {
                    if use_browser {
                        open_browser(info);
                    }
                });
        };
        let info = ListeningInfo {
            sign_in: context.block_on(serve::create_sign_in_link(&context, &url))?,
            listening: url,
        };
        if info.sign_in.is_none() {
            return Err(CliError::from(CommandRefusal::OnlyPersonSignsIn));
        }
        let opened = use_browser && open_browser(&info);
        out.print_result(&info, |info| {
            let link = info.sign_in.as_deref().unwrap_or_default();
            let about = if opened {
                msg::cli_project_opened_in_browser(out.lang())
            } else {
                msg::cli_project_open_link(out.lang())
            };
            format!("{about}\n  {link}")
        })
    }
}

/// Opens the sign-in link in a browser, if there is a graphical session. Returns whether a browser was
/// started.
fn open_browser(info: &ListeningInfo) -> bool {
    let Some(link) = &info.sign_in else {
        return false;
    };
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| is_variable_set(name))
    {
        "xdg-open"
    } else {
        return false;
    };
    let started = Command::new(program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else {
        return false;
    };
    // Waited for, so that it does not remain as a zombie process of the server.
    std::thread::spawn(move || child.wait());
    true
}

fn is_variable_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}
