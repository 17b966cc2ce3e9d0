//! `polis open`: opens the web page in a browser, signed in; starts a server if none runs for the project.

use std::process::{Command, Stdio};

use clap::Args;

use super::serve::{self, Listening, Serve, WhenTaken};
use crate::cli::Globals;
use crate::context::{Context, Place};
use crate::error::{Failure, invalid};
use crate::output::Output;
use crate::server_lock;

/// Open the page of this polis in a browser, signed in; serve it if nobody does.
#[derive(Debug, Args)]
pub(crate) struct Open {
    /// Only print the link
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    serve: Serve,
}

impl Open {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let place = Place::find(globals)?;
        let shows = !self.no_browser;
        let context = Context::open(globals)?;
        let found = context.run(async {
            match &place.workspace {
                Some(workspace) => server_lock::find(workspace).await,
                None => None,
            }
        });
        let Some(url) = found else {
            drop(context);
            return self
                .serve
                .run_and(globals, out, WhenTaken::NextPort, |told| {
                    if shows {
                        browse(told);
                    }
                });
        };
        let told = Listening {
            sign_in: context.run(serve::link(&context, &url))?,
            listening: url,
        };
        if told.sign_in.is_none() {
            return Err(invalid(
                "Only the person can sign in with a link.",
                "leave --as and POLIS_AGENT out, or sign in with a token on the page itself",
            ));
        }
        let opened = shows && browse(&told);
        out.answer(&told, |told| {
            let link = told.sign_in.as_deref().unwrap_or_default();
            if opened {
                format!("Opened in the browser. Should nothing appear (good once, for ten minutes):\n  {link}")
            } else {
                format!("Open this link; it is good once, for ten minutes:\n  {link}")
            }
        })
    }
}

/// Opens the sign-in link in a browser, if there is a graphical session. Returns whether a browser was started.
fn browse(told: &Listening) -> bool {
    let Some(link) = &told.sign_in else {
        return false;
    };
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| is_set(name))
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

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}
