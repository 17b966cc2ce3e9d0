//! What this machine's sandbox consists of, found by building one.

use std::sync::atomic::Ordering;

use polis_core::workspace::policy::{CommandPolicy, Tier};
use polis_ops::port::{SandboxLayer, SandboxReport};

use super::alone::Scratch;
use super::cgroup::Version;
use super::landlock::SCOPES;
use super::refused::Refused;
use super::{Job, Sandbox, SandboxError, TIERS, rank};

impl Sandbox {
    /// Builds a sandbox of every strength and tells what worked.
    pub fn report(&self) -> SandboxReport {
        let policy = CommandPolicy::default();
        let owner = self.launcher.is_root().then_some(self.launcher.outside());
        let place = Scratch::new(owner);
        let tried = |tier: Tier| -> Result<(), String> {
            if rank(tier) > self.strongest.load(Ordering::Relaxed) {
                return Err("not used any more: it was refused before".to_owned());
            }
            let place = place.as_ref().map_err(|error| error.kind().to_string())?;
            let job = Job {
                hand_over: true,
                ..Job::new(place.path(), "true", &policy)
            };
            match self.run_at(&job, tier) {
                Ok(_) => Ok(()),
                Err(Refused::Missing { layer, .. }) => Err(layer),
                Err(Refused::Job(SandboxError::Failed(why) | SandboxError::BadPolicy(why))) => {
                    Err(why)
                }
                Err(Refused::Job(SandboxError::Unavailable(why))) => Err(why),
            }
        };
        let results = TIERS.map(|tier| (tier, tried(tier)));
        let of = |wanted: Tier| {
            let found = results.iter().find(|(tier, _)| *tier == wanted);
            found.map_or_else(|| Err(String::new()), |(_, result)| result.clone())
        };
        let tier = results
            .iter()
            .filter(|(_, result)| result.is_ok())
            .map(|(tier, _)| *tier)
            .max()
            .unwrap_or(Tier::Bare);
        let layer = |name, found: Result<String, String>| SandboxLayer {
            name,
            active: found.is_ok(),
            detail: found.unwrap_or_else(|why| why),
        };
        let user = if self.launcher.is_root() {
            format!("commands of root run as user {}", self.launcher.outside().0)
        } else {
            "commands run as the user polis runs as".to_owned()
        };
        SandboxReport {
            tier,
            layers: vec![
                layer("user", Ok(user)),
                layer(
                    "namespaces",
                    of(Tier::Watched).map(|()| "user, mount, pid, ipc, uts, network".to_owned()),
                ),
                layer("landlock", self.landlock_detail()),
                layer(
                    "seccomp",
                    of(Tier::Landlock)
                        .or_else(|_| of(Tier::Watched))
                        .map(|()| "filter accepted".to_owned()),
                ),
                layer("control group", self.group_detail(&of(Tier::Full))),
                layer(
                    "without namespaces",
                    of(Tier::Landlock).map(|()| self.alone_detail()),
                ),
            ],
        }
    }

    /// What is not covered where there are no namespaces.
    fn alone_detail(&self) -> String {
        let mut detail = "Landlock and seccomp alone would do".to_owned();
        if !self.launcher.is_root() {
            detail.push_str("; modes and times of all files of this user could be changed");
        }
        if self
            .landlock
            .is_none_or(|abilities| abilities.version() < SCOPES)
        {
            detail.push_str("; processes of the commands' user could be signalled");
        }
        detail
    }

    fn landlock_detail(&self) -> Result<String, String> {
        let Some(abilities) = self.landlock else {
            return Err("the kernel has no Landlock, or it is switched off".to_owned());
        };
        let version = abilities.version();
        Ok(if version >= SCOPES {
            format!("interface {version}: files, network, signals, abstract sockets")
        } else {
            format!(
                "interface {version}: files; signals and abstract sockets only from {SCOPES} on"
            )
        })
    }

    fn group_detail(&self, ran: &Result<(), String>) -> Result<String, String> {
        let groups = self.groups().map_err(|missing| missing.why)?;
        ran.clone()?;
        Ok(match groups.version() {
            Version::One => "memory (interface 1); processes by limits".to_owned(),
            Version::Two => "memory and processes (interface 2)".to_owned(),
        })
    }
}
