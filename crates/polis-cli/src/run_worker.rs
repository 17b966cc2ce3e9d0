//! Society worker embedded in this process: drives runs with a model, and exports traces over OpenTelemetry if a
//! collector is configured. `polis run`, `polis serve` and the demo use it.

use std::sync::Arc;
use std::time::Duration;

use polis_core::board::template_text::Language;
use polis_core::{Refusal, RunId};
use polis_ops::port::Chance as _;
use polis_society::model::Model;
use polis_society::telemetry::{Telemetry, TelemetrySettings};
use polis_society::{Society, SocietySettings};

use crate::clock::SystemChance;
use crate::config::Config;
use crate::context::Context;
use crate::error::Failure;
use crate::model_selection::{Surroundings, proxies};
use crate::team;

/// Maximum time for sending the last traces at shutdown.
const LAST_TRACES: Duration = Duration::from_secs(2);

/// Settings for driving societies in this process.
#[derive(Debug)]
pub(crate) struct Drive {
    /// The model that agents use.
    pub(crate) model: Arc<dyn Model>,
    settings: SocietySettings,
    telemetry: Option<TelemetrySettings>,
    language: Option<Language>,
}

impl Drive {
    /// Creates the settings from a model, the configuration and the environment. `what` is the prefix of the worker's
    /// name. Only the given `runs` are driven; all runs if the list is empty.
    pub(crate) fn new(
        what: &str,
        model: Arc<dyn Model>,
        config: &Config,
        runs: Vec<RunId>,
        here: &dyn Surroundings,
    ) -> Self {
        let mut chance = SystemChance.token();
        chance.truncate(8);
        let settings = SocietySettings {
            lease: Duration::from_millis(config.society.lease_ms()),
            runs,
            ..SocietySettings::of(format!("{what}-{}-{chance}", std::process::id()))
        };
        Self {
            model,
            settings,
            telemetry: traces(config, here),
            language: Language::from_name(team::language(config)),
        }
    }

    /// Starts the worker. Must be called inside the async runtime.
    pub(crate) async fn start(self, context: &Context) -> Result<Driven, Failure> {
        let mut polis = context.polis.clone();
        // The runtime's own messages to agents use the language of their roles.
        if let Some(language) = self.language {
            Arc::make_mut(&mut polis.settings).boards.language = language;
        }
        let clock = Arc::clone(&polis.clock);
        let society = Society::start(polis, self.model, self.settings).await?;
        let begin = |settings| Telemetry::start(&settings, society.progress(), clock);
        let telemetry: Option<Result<Telemetry, Refusal>> = self.telemetry.map(begin);
        Ok(Driven {
            telemetry: telemetry.transpose()?,
            society,
        })
    }
}

/// Returns where traces are sent. The OpenTelemetry environment variables win over the configuration.
fn traces(config: &Config, here: &dyn Surroundings) -> Option<TelemetrySettings> {
    let named = Some(config.society.telemetry.as_str()).filter(|url| !url.is_empty());
    let set = TelemetrySettings::from_variables(|name| here.variable(name));
    let mut settings = set.or_else(|| named.map(TelemetrySettings::of))?;
    settings.proxies = proxies(here);
    settings.store = here.place();
    Some(settings)
}

/// A running society worker.
#[derive(Debug)]
pub(crate) struct Driven {
    /// The society.
    pub(crate) society: Society,
    telemetry: Option<Telemetry>,
}

impl Driven {
    /// Shuts down gracefully, within the given time.
    pub(crate) async fn stop(self, grace: Duration) {
        self.society.stop(grace).await;
        if let Some(telemetry) = self.telemetry {
            let _ = telemetry.stop(LAST_TRACES).await;
        }
    }
}
