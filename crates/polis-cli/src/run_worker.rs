//! Society worker embedded in this process: drives runs with a model, and exports traces over OpenTelemetry
//! if a collector is configured. `polis run`, `polis serve` and the demo use it.

use std::sync::Arc;
use std::time::Duration;

use polis_core::board::template_text::ContentLanguage;
use polis_core::{Refusal, RunId};
use polis_ops::port::RandomSource as _;
use polis_society::model::LanguageModel;
use polis_society::telemetry::{TelemetryExport, TelemetrySettings};
use polis_society::{Society, WorkerSettings};

use crate::clock::SystemRandom;
use crate::config::Config;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::model_selection::{EnvironmentSource, proxies_from_environment};
use crate::team;

/// Maximum time for sending the last traces at shutdown.
const TRACE_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Settings of a society worker in this process.
#[derive(Debug)]
pub(crate) struct RunWorkerSettings {
    /// The model that agents use.
    pub(crate) model: Arc<dyn LanguageModel>,
    settings: WorkerSettings,
    telemetry: Option<TelemetrySettings>,
    language: Option<ContentLanguage>,
}

impl RunWorkerSettings {
    /// Creates the settings from a model, the configuration and the environment. `what` is the prefix of the
    /// worker's name. Only the given `runs` are driven; all runs if the list is empty.
    pub(crate) fn new(
        what: &str,
        model: Arc<dyn LanguageModel>,
        config: &Config,
        runs: Vec<RunId>,
        environment: &dyn EnvironmentSource,
    ) -> Self {
        let mut suffix = SystemRandom.random_token();
        suffix.truncate(8);
        let settings = WorkerSettings {
            lease_duration: Duration::from_millis(config.society.lease_ms()),
            runs,
            ..WorkerSettings::for_worker(format!("{what}-{}-{suffix}", std::process::id()))
        };
        Self {
            model,
            settings,
            telemetry: telemetry_settings(config, environment),
            language: ContentLanguage::from_name(team::team_language(config)),
        }
    }

    /// Starts the worker. Must be called inside the async runtime.
    pub(crate) async fn start_worker(
        self,
        context: &CommandContext,
    ) -> Result<RunWorker, CliError> {
        let mut app = context.app.clone();
        // The runtime's own messages to agents use the language of their roles.
        if let Some(language) = self.language {
            Arc::make_mut(&mut app.settings).boards.language = language;
        }
        let clock = Arc::clone(&app.clock);
        let society = Society::start(app, self.model, self.settings).await?;
        let begin =
            |settings| TelemetryExport::start(&settings, society.subscribe_progress(), clock);
        let telemetry: Option<Result<TelemetryExport, Refusal>> = self.telemetry.map(begin);
        Ok(RunWorker {
            telemetry: telemetry.transpose()?,
            society,
        })
    }
}

/// Returns where traces are sent; `None` if no collector is configured. The OpenTelemetry environment
/// variables take precedence over the configuration.
fn telemetry_settings(
    config: &Config,
    environment: &dyn EnvironmentSource,
) -> Option<TelemetrySettings> {
    let named = Some(config.society.telemetry.as_str()).filter(|url| !url.is_empty());
    let set = TelemetrySettings::from_variables(|name| environment.env_variable(name));
    let mut settings = set.or_else(|| named.map(TelemetrySettings::from_base_url))?;
    settings.proxies = proxies_from_environment(environment);
    settings.store = environment.project_dir();
    Some(settings)
}

/// A running society worker.
#[derive(Debug)]
pub(crate) struct RunWorker {
    /// The society, for progress events and shutdown.
    pub(crate) society: Society,
    telemetry: Option<TelemetryExport>,
}

impl RunWorker {
    /// Shuts down gracefully, within the given time.
    pub(crate) async fn stop(self, grace: Duration) {
        self.society.stop(grace).await;
        if let Some(telemetry) = self.telemetry {
            let _ = telemetry.stop(TRACE_FLUSH_TIMEOUT).await;
        }
    }
}
