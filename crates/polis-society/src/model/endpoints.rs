//! Set of model endpoints: selects an endpoint by name or tag, retries with backoff, fails over to other endpoints with
//! the same tag, and honours rate limits.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use polis_core::society::role::ModelChoice;
use polis_core::{Code, Refusal};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::assembly::Draft;
use super::endpoint::{Endpoint, EndpointSettings, Patience};
use super::estimate;
use super::gate::{
    CLOSED, CLOSED_IN_VAIN, LONGEST_CLOSED, LONGEST_DOUBLED, Permit, Ticket, with_jitter,
};
use super::http::attempt;
use super::line::Proxies;
use super::refusal::Failure;
use super::trust::Trust;
use super::{Answer, Answering, Ask, Held, Model, ModelError, ModelFault, while_wanted};

/// A call may be refused by a rate limit this many times as often as it may fail otherwise, while other calls are
/// answered. Such a refusal delays no other call, and at endpoints that refuse at random a few refusals in a row mean
/// nothing.
const OWN_LIMITS: u32 = 3;

/// Settings of all endpoints.
#[derive(Debug, Clone, Default)]
pub struct EndpointsSettings {
    /// The endpoints; at least one.
    pub endpoints: Vec<EndpointSettings>,
    /// The name of the default endpoint, for roles that select none; the first one if omitted.
    pub default: Option<String>,
    /// Maximum number of concurrent requests to all endpoints together; unlimited if omitted.
    pub concurrency: Option<usize>,
    /// Timeouts and retry limits.
    pub patience: Patience,
    /// The proxies to use.
    pub proxies: Proxies,
    /// Certificates (DER) that are trusted in addition to the system's.
    pub trust: Vec<Vec<u8>>,
}

/// The configured endpoints.
#[derive(Debug)]
pub struct Endpoints {
    all: Vec<Arc<Endpoint>>,
    default: usize,
    places: Option<Arc<Semaphore>>,
    patience: Patience,
    /// Unknown names and tags for which a warning was already given.
    warned: Mutex<BTreeSet<String>>,
}

/// The endpoints to which the requests of a role may go.
struct Candidates<'a> {
    endpoints: Vec<&'a Arc<Endpoint>>,
    /// The name or tag that the role selects, if no endpoint has it.
    missing: Option<&'a str>,
}

impl Endpoints {
    /// Creates the endpoints from their settings. Makes no request yet. Fails with `InvalidConfig` if there is no
    /// default endpoint or a setting is invalid.
    pub fn new(settings: EndpointsSettings) -> Result<Self, Refusal> {
        let EndpointsSettings {
            endpoints,
            default,
            concurrency,
            patience,
            proxies,
            trust,
        } = settings;
        let named = default.as_deref();
        let place = endpoints
            .iter()
            .position(|one| named.is_none_or(|name| one.name == name));
        let Some(place) = place else {
            let what = match named {
                Some(name) => format!("There is no model's endpoint {name}, which is the default."),
                None => "There is no model's endpoint.".to_owned(),
            };
            return Err(Refusal::new(
                Code::InvalidConfig,
                what,
                "name one in the configuration, with base_url and model",
            ));
        };
        let trust = Arc::new(Trust::with(trust));
        let all = endpoints
            .into_iter()
            .map(|one| Endpoint::new(one, &proxies, Arc::clone(&trust), &patience).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            all,
            default: place,
            places: concurrency.map(|count| Arc::new(Semaphore::new(count.max(1)))),
            patience,
            warned: Mutex::default(),
        })
    }

    /// Selects the endpoint of the name that a role asks for, else all with that tag, else the default one: shipped and
    /// shared roles name tags such as `code` that a small configuration does not have.
    fn candidates<'a>(&'a self, choice: Option<&'a ModelChoice>) -> Candidates<'a> {
        let wanted = choice.and_then(|choice| choice.endpoint.as_deref());
        let has_name = |one: &&Arc<Endpoint>| wanted == Some(one.settings.name.as_str());
        let has_tag = |one: &&Arc<Endpoint>| {
            let mut tags = one.settings.tags.iter();
            tags.any(|tag| wanted == Some(tag.as_str()))
        };
        let named: Vec<_> = self.all.iter().filter(has_name).take(1).collect();
        if !named.is_empty() {
            return Candidates {
                endpoints: named,
                missing: None,
            };
        }
        let tagged: Vec<_> = self.all.iter().filter(has_tag).collect();
        if !tagged.is_empty() {
            return Candidates {
                endpoints: tagged,
                missing: None,
            };
        }
        Candidates {
            endpoints: self.all.get(self.default).into_iter().collect(),
            missing: wanted,
        }
    }

    /// Warns that a name or tag is not configured, once for each.
    fn warn_missing(&self, missing: &str, ask: &Ask<'_>) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if !warned.insert(missing.to_owned()) {
            return;
        }
        let default = self.all.get(self.default).map(|one| &one.settings.name);
        let text = format!(
            "No model endpoint has the name or tag {missing:?}, which the role {:?} asks for; the default endpoint \
             {:?} is used instead.",
            ask.role,
            default.map_or("", String::as_str),
        );
        tracing::warn!("{text}");
        if let Some(watch) = &ask.watch {
            watch.warning(&text);
        }
    }

    async fn ask(&self, ask: &Ask<'_>) -> Result<Answer, ModelError> {
        let began = Instant::now();
        let Candidates { endpoints, missing } = self.candidates(ask.choice);
        if let Some(missing) = missing {
            self.warn_missing(missing, ask);
        }
        // A model name is only valid for the endpoint for which it was written.
        let choice = ask.choice.map(|choice| ModelChoice {
            model: choice.model.clone().filter(|_| missing.is_none()),
            ..choice.clone()
        });
        let ask = &Ask {
            choice: choice.as_ref(),
            cancel: ask.cancel.clone(),
            watch: ask.watch.clone(),
            ..*ask
        };
        let mut trials: Vec<Trial<'_>> = endpoints.into_iter().map(Trial::of).collect();
        let mut ticket = Ticket::draw();
        let mut tries = 0;
        loop {
            let Some(at) = next(&trials) else {
                let round = trials.iter().map(|trial| trial.failures).min().unwrap_or(0);
                // All endpoints have failed since the last pause.
                for trial in &mut trials {
                    trial.failed_now = false;
                }
                sleep(self.pause(round)).await;
                continue;
            };
            let Some(trial) = trials.get_mut(at) else {
                continue;
            };
            let endpoint = trial.endpoint;
            let wait = trial.wait(Instant::now());
            if !wait.is_zero() {
                sleep(wait).await;
            }
            let permit = endpoint.gate.enter(ticket).await;
            let place = match &self.places {
                Some(places) => Arc::clone(places).acquire_owned().await.ok(),
                None => None,
            };
            tries += 1;
            let body = trial.body.get_or_insert_with(|| endpoint.body(ask)).clone();
            let failure = match attempt(endpoint, &self.patience, ask, body).await {
                Ok(draft) => {
                    permit.went_well();
                    let held = Held::of((permit, place));
                    return Ok(answer(endpoint, ask, draft, began, tries, held));
                }
                Err(failure) => failure,
            };
            let given_up = match failure {
                Failure::TooLong(message) => {
                    return Err(ModelError {
                        kind: ModelFault::TooLong,
                        message,
                    });
                }
                Failure::Permanent(message) => Some(message),
                Failure::Quirk(quirk) => {
                    trial.body = None;
                    trial.quirks += 1;
                    let new = endpoint.learn(quirk);
                    // Concurrent requests with the same field get the same error.
                    if new || trial.quirks < 4 {
                        None
                    } else {
                        Some(format!(
                            "The model's endpoint {} refuses the request, whatever is left out.",
                            endpoint.settings.name
                        ))
                    }
                }
                Failure::Passing { why, limited } => {
                    let out = match limited {
                        Some(pause) => {
                            // Queue it behind all waiting calls: otherwise a call that is always refused would keep
                            // them out.
                            ticket = Ticket::draw();
                            trial.limited(&why, pause, &permit, &self.patience)
                        }
                        None => trial.failed(&why, &self.patience),
                    };
                    if let (Some(watch), None) = (&ask.watch, &out) {
                        watch.again(&why);
                    }
                    out
                }
            };
            drop((permit, place));
            let Some(message) = given_up else { continue };
            trials.remove(at);
            if trials.is_empty() {
                return Err(ModelError {
                    kind: ModelFault::Permanent,
                    message,
                });
            }
            if let Some(watch) = &ask.watch {
                watch.again(&message);
            }
        }
    }

    /// Returns the backoff before another round: random up to a limit that doubles (full jitter), so that calls that
    /// failed together do not retry together.
    fn pause(&self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let most = self.patience.backoff.saturating_mul(doubled);
        most.min(self.patience.longest_backoff)
            .mul_f64(fastrand::f64())
    }
}

impl Model for Endpoints {
    fn complete<'a>(&'a self, ask: Ask<'a>) -> Answering<'a> {
        Box::pin(async move { while_wanted(&ask.cancel, self.ask(&ask)).await })
    }

    fn context_limit(&self, choice: Option<&ModelChoice>) -> u64 {
        let candidates = self.candidates(choice).endpoints.into_iter();
        let limits = candidates.map(|one| one.settings.context);
        limits.min().unwrap_or(u64::MAX)
    }
}

/// State of a call at one endpoint.
struct Trial<'a> {
    endpoint: &'a Arc<Endpoint>,
    body: Option<Bytes>,
    failures: u32,
    limits: u32,
    /// How many of `limits` occurred while other calls were answered: those concern this call alone.
    own_limits: u32,
    /// The number of answered calls at the last refusal.
    answers: Option<u64>,
    /// When this call may be tried again after the last refusal.
    not_before: Option<Instant>,
    since: Option<Instant>,
    failed_now: bool,
    quirks: u32,
}

impl<'a> Trial<'a> {
    fn of(endpoint: &'a Arc<Endpoint>) -> Self {
        Self {
            endpoint,
            body: None,
            failures: 0,
            limits: 0,
            own_limits: 0,
            answers: None,
            not_before: None,
            since: None,
            failed_now: false,
            quirks: 0,
        }
    }

    /// Counts a refusal by a rate limit and informs the gate. This call is not tried here again before the pause is
    /// over; another endpoint may be free in the meantime. Returns the reason if the endpoint is given up.
    fn limited(
        &mut self,
        why: &str,
        pause: Option<Duration>,
        permit: &Permit,
        patience: &Patience,
    ) -> Option<String> {
        let longest = LONGEST_CLOSED.min(patience.total);
        if let Some(pause) = pause.filter(|pause| *pause > longest) {
            permit.close(CLOSED_IN_VAIN.min(pause));
            return Some(format!(
                "{why} It is to be asked again in {} s.",
                pause.as_secs()
            ));
        }
        permit.limited(pause);
        let answers = self.endpoint.gate.answers();
        let others_answered = self.answers.replace(answers);
        if others_answered.is_some_and(|before| before < answers) {
            self.own_limits += 1;
        }
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        self.not_before =
            Some(now + with_jitter(pause.unwrap_or_else(|| unnamed_pause(self.limits))));
        self.limits += 1;
        // Waiting in a long queue takes time too, and is not a failure: there must be several refusals as well.
        let over = now - since >= patience.total && self.limits >= patience.tries;
        (over || self.own_limits >= patience.tries.saturating_mul(OWN_LIMITS))
            .then(|| format!("{why} It was so for {} s.", (now - since).as_secs()))
    }

    /// Returns how long this call has to wait before it may be tried here again.
    fn wait(&self, now: Instant) -> Duration {
        let until = self.not_before.unwrap_or(now);
        until.saturating_duration_since(now)
    }

    /// Counts a failure. Returns the reason if the endpoint is given up.
    fn failed(&mut self, why: &str, patience: &Patience) -> Option<String> {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        let over = now - since >= patience.total;
        self.failures += 1;
        self.failed_now = true;
        if self.failures < patience.tries && !over {
            return None;
        }
        let (failures, seconds) = (self.failures, (now - since).as_secs());
        Some(format!(
            "{why} It was tried {failures} times in {seconds} s."
        ))
    }
}

/// Returns the pause of a call after this many refusals without a `Retry-After` header.
fn unnamed_pause(refusals_before: u32) -> Duration {
    let doubled = CLOSED.saturating_mul(2_u32.saturating_pow(refusals_before.min(10)));
    doubled.min(LONGEST_DOUBLED)
}

/// Selects the next endpoint among those that did not just fail: open before closed, then the one with the fewest
/// requests.
fn next(trials: &[Trial<'_>]) -> Option<usize> {
    if let [trial] = trials {
        return (!trial.failed_now).then_some(0);
    }
    trials
        .iter()
        .enumerate()
        .filter(|(_, trial)| !trial.failed_now)
        .min_by_key(|(_, trial)| {
            let gate = &trial.endpoint.gate;
            let closed = gate.closed_for().unwrap_or_default();
            (closed.max(trial.wait(Instant::now())), gate.load())
        })
        .map(|(at, _)| at)
}

fn answer(
    endpoint: &Endpoint,
    ask: &Ask<'_>,
    draft: Draft,
    began: Instant,
    tries: u64,
    held: Held,
) -> Answer {
    let paid = endpoint.settings.price_in != 0.0 || endpoint.settings.price_out != 0.0;
    let micros = match draft.usage {
        _ if !paid => 0,
        Some(usage) => endpoint.cost(usage),
        None => {
            let prompt = estimate::tokens(ask.messages) + estimate::tokens(ask.tools);
            endpoint.cost((prompt, estimate::tokens(draft.message.text())))
        }
    };
    let model = if draft.model.is_empty() {
        endpoint.model(ask.choice).to_owned()
    } else {
        draft.model
    };
    Answer {
        message: draft.message,
        text: draft.text,
        calls: draft.calls,
        dropped_calls: draft.dropped_calls,
        finish: draft.finish,
        usage: draft.usage,
        micros,
        model,
        ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        tries,
        held,
    }
}

#[cfg(test)]
mod tests;
