//! Probe of this machine's sandbox for `polis doctor`: builds a sandbox of every tier and reports which
//! layers work.

use std::sync::atomic::Ordering;

use polis_core::refusal::Reason;
use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_policy::{CommandPolicy, SandboxTier};
use polis_ops::port::{SandboxLayer, SandboxLayerDetail, SandboxReport};

use super::isolation::landlock::MIN_SCOPE_VERSION;
use super::isolation::no_namespaces::ScratchDirectory;
use super::limits::cgroup::CgroupVersion;
use super::tier_refusal::TierRefusal;
use super::{Sandbox, SandboxContext, SandboxError, TIERS_STRONGEST_FIRST, tier_rank};

impl Sandbox {
    /// Builds a sandbox of every tier and reports what worked.
    pub fn probe(&self) -> SandboxReport {
        let request = CommandRequest::trusted("true", &CommandPolicy::default());
        let owner = self
            .launcher
            .is_root()
            .then_some(self.launcher.command_user());
        let scratch = ScratchDirectory::new(owner);
        let run_tier = |tier: SandboxTier| -> Result<(), SandboxLayerDetail> {
            if tier_rank(tier) > self.max_tier.load(Ordering::Relaxed) {
                return Err(SandboxLayerDetail::FailedBefore);
            }
            let failed = |problem| Err(SandboxLayerDetail::Problem(Reason::from(problem)));
            let system_error = |text| Err(SandboxLayerDetail::SystemError(text));
            let scratch = match &scratch {
                Ok(scratch) => scratch,
                Err(error) => return system_error(error.kind().to_string()),
            };
            let context = SandboxContext {
                may_chown: true,
                ..SandboxContext::new(scratch.path())
            };
            match self.run_at_tier(&request, &context, tier) {
                Ok(_) => Ok(()),
                Err(
                    TierRefusal::LayerMissing { problem, .. }
                    | TierRefusal::JobFailed(SandboxError::Failed(problem)),
                ) => failed(problem),
                Err(TierRefusal::JobFailed(SandboxError::BadPolicy(problem))) => {
                    system_error(problem.name().to_owned())
                }
                Err(TierRefusal::JobFailed(SandboxError::Unavailable(problems))) => problems
                    .into_iter()
                    .next()
                    .map_or_else(|| system_error(String::new()), failed),
            }
        };
        let results = TIERS_STRONGEST_FIRST.map(|tier| (tier, run_tier(tier)));
        let tier_result = |requested: SandboxTier| {
            let found = results.iter().find(|(tier, _)| *tier == requested);
            found.map_or_else(
                || Err(SandboxLayerDetail::SystemError(String::new())),
                |(_, result)| result.clone(),
            )
        };
        let tier = results
            .iter()
            .filter(|(_, result)| result.is_ok())
            .map(|(tier, _)| *tier)
            .max()
            .unwrap_or(SandboxTier::Bare);
        let layer = |name, found: Result<SandboxLayerDetail, _>| SandboxLayer {
            name,
            active: found.is_ok(),
            detail: found.unwrap_or_else(|reason| reason),
        };
        let user = if self.launcher.is_root() {
            SandboxLayerDetail::CommandUser(self.launcher.command_user().0)
        } else {
            SandboxLayerDetail::CurrentUser
        };
        SandboxReport {
            tier,
            layers: vec![
                layer("user", Ok(user)),
                layer(
                    "namespaces",
                    tier_result(SandboxTier::Watched).map(|()| SandboxLayerDetail::Namespaces),
                ),
                layer("landlock", self.landlock_detail()),
                layer(
                    "seccomp",
                    tier_result(SandboxTier::Landlock)
                        .or_else(|_| tier_result(SandboxTier::Watched))
                        .map(|()| SandboxLayerDetail::FilterAccepted),
                ),
                layer(
                    "control group",
                    self.group_detail(&tier_result(SandboxTier::Full)),
                ),
                layer(
                    "without namespaces",
                    tier_result(SandboxTier::Landlock).map(|()| self.no_namespaces_detail()),
                ),
            ],
        }
    }

    /// Describes what is not covered without namespaces.
    fn no_namespaces_detail(&self) -> SandboxLayerDetail {
        SandboxLayerDetail::NamespacesDispensable {
            exposes_file_modes: !self.launcher.is_root(),
            exposes_processes: self
                .landlock
                .is_none_or(|abilities| abilities.version() < MIN_SCOPE_VERSION),
        }
    }

    fn landlock_detail(&self) -> Result<SandboxLayerDetail, SandboxLayerDetail> {
        let Some(abilities) = self.landlock else {
            return Err(SandboxLayerDetail::LandlockMissing);
        };
        let version = abilities.version();
        Ok(if version >= MIN_SCOPE_VERSION {
            SandboxLayerDetail::LandlockScoped(version)
        } else {
            SandboxLayerDetail::LandlockUnscoped {
                version,
                required: MIN_SCOPE_VERSION,
            }
        })
    }

    fn group_detail(
        &self,
        result: &Result<(), SandboxLayerDetail>,
    ) -> Result<SandboxLayerDetail, SandboxLayerDetail> {
        let groups = self
            .control_groups()
            .map_err(|missing| SandboxLayerDetail::Problem(missing.problem.into()))?;
        result.clone()?;
        Ok(match groups.version() {
            CgroupVersion::V1 => SandboxLayerDetail::MemoryGroup,
            CgroupVersion::V2 => SandboxLayerDetail::MemoryAndProcessGroup,
        })
    }
}
