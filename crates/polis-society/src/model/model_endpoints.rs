//! Set of model endpoints as one language model: selects endpoints by name or tag, retries with backoff,
//! fails over to other endpoints with the same tag, and honours rate limits.
//!
//! A call fails when it is cancelled, when its prompt is too long, or when all its endpoints are given up:
//! each one after a permanent error, or after too many failed attempts or too much time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use polis_core::Refusal;
use polis_core::number::saturating_cast;
use polis_core::society::society_role::ModelChoice;
use polis_http_client::{HttpClient, HttpClientSettings, ProxySettings, TlsRoots};
use polis_i18n::{UiLanguage, msg};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::assembly::AssembledResponse;
use super::endpoint_limiter::{
    CLOSE_DURATION_AFTER_GIVING_UP, INITIAL_CLOSE_BACKOFF, MAX_CLOSE_BACKOFF, MAX_CLOSE_DURATION,
    QueueTicket, SlotPermit, with_jitter,
};
use super::http_request::attempt_request;
use super::model_endpoint::{EndpointSettings, ModelEndpoint, RetryPolicy};
use super::provider_error::AttemptError;
use super::token_estimate;
use super::{
    EndpointPermit, LanguageModel, ModelError, ModelErrorKind, ModelRequest, ModelResponse,
    ResponseFuture, complete_unless_cancelled,
};
use crate::refusal_tables::ModelRefusal;

/// A call may be refused by a rate limit this many times as often as it may fail otherwise, while other calls
/// succeed. Such a refusal delays no other call, and at endpoints that refuse at random a few refusals in a
/// row mean nothing.
const RATE_LIMIT_RETRY_FACTOR: u32 = 3;

/// Settings of all endpoints.
#[derive(Debug, Clone, Default)]
pub struct ModelEndpointsSettings {
    /// The endpoints; at least one.
    pub endpoints: Vec<EndpointSettings>,
    /// The name of the default endpoint, for roles that select none; the first one if omitted.
    pub default_endpoint: Option<String>,
    /// Maximum number of concurrent requests to all endpoints together; unlimited if omitted.
    pub max_concurrency: Option<usize>,
    /// Timeouts and retry limits.
    pub retry_policy: RetryPolicy,
    /// The proxies to use.
    pub proxies: ProxySettings,
    /// Certificates (DER) that are trusted in addition to the system's.
    pub extra_certificates: Vec<Vec<u8>>,
}

/// All configured endpoints as one language model.
#[derive(Debug)]
pub struct ModelEndpoints {
    endpoints: Vec<Arc<ModelEndpoint>>,
    default_index: usize,
    request_permits: Option<Arc<Semaphore>>,
    retry_policy: RetryPolicy,
    /// Unknown names and tags for which a warning was already given.
    warned_selectors: Mutex<BTreeSet<String>>,
}

/// The endpoints to which the requests of a role may go.
struct EndpointCandidates<'a> {
    endpoints: Vec<&'a Arc<ModelEndpoint>>,
    /// The name or tag that the role selects, if no endpoint has it.
    unknown_selector: Option<&'a str>,
}

impl ModelEndpoints {
    /// Creates the endpoints from their settings. Makes no request yet. Fails with `InvalidConfig` if there
    /// is no default endpoint or a setting is invalid.
    pub fn new(settings: ModelEndpointsSettings) -> Result<Self, Refusal> {
        let ModelEndpointsSettings {
            endpoints,
            default_endpoint: default,
            max_concurrency: concurrency,
            retry_policy: patience,
            proxies,
            extra_certificates: certificates,
        } = settings;
        let default_name = default.as_deref();
        let default_index = endpoints
            .iter()
            .position(|one| default_name.is_none_or(|name| one.name == name));
        let Some(default_index) = default_index else {
            return Err(match default_name {
                Some(name) => ModelRefusal::NoDefaultEndpoint {
                    name: name.to_owned(),
                },
                None => ModelRefusal::NoEndpoint,
            }
            .into());
        };
        let client = HttpClient::new(HttpClientSettings {
            proxies,
            tls_roots: TlsRoots::with_extra_certificates(certificates),
            connect_timeout: patience.connect_timeout,
        });
        let all = endpoints
            .into_iter()
            .map(|one| ModelEndpoint::new(one, client.clone()).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            endpoints: all,
            default_index,
            request_permits: concurrency.map(|count| Arc::new(Semaphore::new(count.max(1)))),
            retry_policy: patience,
            warned_selectors: Mutex::default(),
        })
    }

    /// Selects the endpoint of the name that a role asks for, else all with that tag, else the default one:
    /// shipped and shared roles name tags such as `code` that a small configuration does not have.
    fn select_candidates<'a>(&'a self, choice: Option<&'a ModelChoice>) -> EndpointCandidates<'a> {
        let selector = choice.and_then(|choice| choice.endpoint.as_deref());
        let has_name = |one: &&Arc<ModelEndpoint>| selector == Some(one.settings.name.as_str());
        let has_tag = |one: &&Arc<ModelEndpoint>| {
            let mut tags = one.settings.tags.iter();
            tags.any(|tag| selector == Some(tag.as_str()))
        };
        let named: Vec<_> = self.endpoints.iter().filter(has_name).take(1).collect();
        if !named.is_empty() {
            return EndpointCandidates {
                endpoints: named,
                unknown_selector: None,
            };
        }
        let tagged: Vec<_> = self.endpoints.iter().filter(has_tag).collect();
        if !tagged.is_empty() {
            return EndpointCandidates {
                endpoints: tagged,
                unknown_selector: None,
            };
        }
        EndpointCandidates {
            endpoints: self.endpoints.get(self.default_index).into_iter().collect(),
            unknown_selector: selector,
        }
    }

    /// Warns that a name or tag is not configured, once for each.
    fn warn_unknown_selector(&self, missing: &str, request: &ModelRequest<'_>) {
        let mut warned = self.warned_selectors.lock();
        if !warned.insert(missing.to_owned()) {
            return;
        }
        let default = self
            .endpoints
            .get(self.default_index)
            .map(|one| &one.settings.name);
        let text = msg::model_unknown_selector(
            request.lang,
            format!("{missing:?}"),
            format!("{:?}", request.role),
            format!("{:?}", default.map_or("", String::as_str)),
        );
        tracing::warn!("{text}");
        if let Some(observer) = &request.observer {
            observer.on_warning(&text);
        }
    }

    /// Requests a response: tries the candidates with backoff and failover until one succeeds. Fails with
    /// `TooLong` if the prompt is too long, and with `Permanent` if all candidates are given up.
    async fn request_with_failover(
        &self,
        request: &ModelRequest<'_>,
    ) -> Result<ModelResponse, ModelError> {
        let started = Instant::now();
        let EndpointCandidates {
            endpoints,
            unknown_selector: missing,
        } = self.select_candidates(request.model_choice);
        if let Some(missing) = missing {
            self.warn_unknown_selector(missing, request);
        }
        // A model name is only valid for the endpoint for which it was written.
        let choice = request.model_choice.map(|choice| ModelChoice {
            model: choice.model.clone().filter(|_| missing.is_none()),
            ..choice.clone()
        });
        let request = &ModelRequest {
            model_choice: choice.as_ref(),
            cancel: request.cancel.clone(),
            observer: request.observer.clone(),
            ..*request
        };
        let mut trials: Vec<EndpointTrial<'_>> =
            endpoints.into_iter().map(EndpointTrial::new).collect();
        let (policy, lang) = (&self.retry_policy, request.lang);
        let mut ticket = QueueTicket::draw();
        let mut attempts = 0;
        loop {
            let Some(at) = next_endpoint(&trials) else {
                let round = trials.iter().map(|trial| trial.failures).min().unwrap_or(0);
                // All endpoints have failed since the last pause.
                for trial in &mut trials {
                    trial.failed_this_round = false;
                }
                sleep(self.round_backoff(round)).await;
                continue;
            };
            let Some(trial) = trials.get_mut(at) else {
                continue;
            };
            let endpoint = trial.endpoint;
            let wait = trial.remaining_wait(Instant::now());
            if !wait.is_zero() {
                sleep(wait).await;
            }
            let permit = endpoint.limiter.acquire_slot(ticket).await;
            let request_permit = match &self.request_permits {
                Some(semaphore) => Arc::clone(semaphore).acquire_owned().await.ok(),
                None => None,
            };
            attempts += 1;
            let body = trial
                .body
                .get_or_insert_with(|| endpoint.build_body(request))
                .clone();
            let failure = match attempt_request(endpoint, &self.retry_policy, request, body).await {
                Ok(draft) => {
                    permit.report_response();
                    let endpoint_permit = EndpointPermit::holding((permit, request_permit));
                    return Ok(build_response(
                        endpoint,
                        request,
                        draft,
                        started,
                        attempts,
                        endpoint_permit,
                    ));
                }
                Err(failure) => failure,
            };
            let final_error = match failure {
                AttemptError::PromptTooLong(message) => {
                    return Err(ModelError {
                        kind: ModelErrorKind::TooLong,
                        message,
                    });
                }
                AttemptError::Permanent(message) => Some(message),
                AttemptError::UnsupportedField(quirk) => {
                    trial.body = None;
                    trial.unsupported_fields += 1;
                    let new = endpoint.record_unsupported_field(quirk);
                    // Concurrent requests with the same field get the same error.
                    if new || trial.unsupported_fields < 4 {
                        None
                    } else {
                        let name = endpoint.settings.label();
                        Some(msg::model_fields_refused(lang, name))
                    }
                }
                AttemptError::Transient {
                    why,
                    rate_limit: limited,
                } => {
                    let error = match limited {
                        Some(pause) => {
                            // Queue it behind all waiting calls: otherwise a call that is always refused
                            // would keep them out.
                            ticket = QueueTicket::draw();
                            trial.record_rate_limit(&why, pause, &permit, policy, lang)
                        }
                        None => trial.record_failure(&why, policy, lang),
                    };
                    if let (Some(observer), None) = (&request.observer, &error) {
                        observer.on_retry(&why);
                    }
                    error
                }
            };
            drop((permit, request_permit));
            let Some(message) = final_error else { continue };
            trials.remove(at);
            if trials.is_empty() {
                return Err(ModelError {
                    kind: ModelErrorKind::Permanent,
                    message,
                });
            }
            if let Some(observer) = &request.observer {
                observer.on_retry(&message);
            }
        }
    }

    /// Returns the backoff before another round: random up to a limit that doubles (full jitter), so that
    /// calls that failed together do not retry together.
    fn round_backoff(&self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        let limit = self.retry_policy.initial_backoff.saturating_mul(factor);
        limit
            .min(self.retry_policy.max_backoff)
            .mul_f64(fastrand::f64())
    }
}

impl LanguageModel for ModelEndpoints {
    fn complete<'a>(&'a self, request: ModelRequest<'a>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let requesting = self.request_with_failover(&request);
            complete_unless_cancelled(&request.cancel, request.lang, requesting).await
        })
    }

    fn context_limit(&self, choice: Option<&ModelChoice>) -> u64 {
        let candidates = self.select_candidates(choice).endpoints.into_iter();
        let limits = candidates.map(|one| one.settings.context_limit);
        limits.min().unwrap_or(u64::MAX)
    }
}

/// State of a call at one endpoint.
struct EndpointTrial<'a> {
    endpoint: &'a Arc<ModelEndpoint>,
    body: Option<Bytes>,
    failures: u32,
    rate_limits: u32,
    /// How many of `rate_limits` occurred while other calls succeeded: those concern this call alone.
    own_rate_limits: u32,
    /// The number of successful calls to the endpoint at the last refusal.
    answers_at_last_limit: Option<u64>,
    /// When this call may be tried again after the last refusal.
    not_before: Option<Instant>,
    first_failure: Option<Instant>,
    failed_this_round: bool,
    unsupported_fields: u32,
}

impl<'a> EndpointTrial<'a> {
    fn new(endpoint: &'a Arc<ModelEndpoint>) -> Self {
        Self {
            endpoint,
            body: None,
            failures: 0,
            rate_limits: 0,
            own_rate_limits: 0,
            answers_at_last_limit: None,
            not_before: None,
            first_failure: None,
            failed_this_round: false,
            unsupported_fields: 0,
        }
    }

    /// Counts a refusal by a rate limit and informs the limiter. This call is not tried here again before the
    /// pause is over; another endpoint may be free in the meantime. Returns the reason if the endpoint is
    /// given up.
    fn record_rate_limit(
        &mut self,
        reason: &str,
        pause: Option<Duration>,
        permit: &SlotPermit,
        retry_policy: &RetryPolicy,
        lang: UiLanguage,
    ) -> Option<String> {
        let longest = MAX_CLOSE_DURATION.min(retry_policy.max_retry_time);
        if let Some(pause) = pause.filter(|pause| *pause > longest) {
            permit.close_limiter(CLOSE_DURATION_AFTER_GIVING_UP.min(pause));
            return Some(msg::model_retry_later(lang, reason, pause.as_secs()));
        }
        permit.report_rate_limit(pause);
        let answers = self.endpoint.limiter.answer_count();
        let others_answered = self.answers_at_last_limit.replace(answers);
        if others_answered.is_some_and(|before| before < answers) {
            self.own_rate_limits += 1;
        }
        let now = Instant::now();
        let since = *self.first_failure.get_or_insert(now);
        self.not_before = Some(
            now + with_jitter(pause.unwrap_or_else(|| default_rate_limit_pause(self.rate_limits))),
        );
        self.rate_limits += 1;
        // Waiting in a long queue takes time too, and is not a failure: there must be several refusals as
        // well.
        let is_expired = now - since >= retry_policy.max_retry_time
            && self.rate_limits >= retry_policy.max_attempts;
        (is_expired
            || self.own_rate_limits
                >= retry_policy
                    .max_attempts
                    .saturating_mul(RATE_LIMIT_RETRY_FACTOR))
        .then(|| msg::model_lasted(lang, reason, (now - since).as_secs()))
    }

    /// Returns how long this call has to wait before it may be tried here again.
    fn remaining_wait(&self, now: Instant) -> Duration {
        let until = self.not_before.unwrap_or(now);
        until.saturating_duration_since(now)
    }

    /// Counts a failure. Returns the reason if the endpoint is given up.
    fn record_failure(
        &mut self,
        reason: &str,
        retry_policy: &RetryPolicy,
        lang: UiLanguage,
    ) -> Option<String> {
        let now = Instant::now();
        let since = *self.first_failure.get_or_insert(now);
        let is_expired = now - since >= retry_policy.max_retry_time;
        self.failures += 1;
        self.failed_this_round = true;
        if self.failures < retry_policy.max_attempts && !is_expired {
            return None;
        }
        let (failures, seconds) = (self.failures, (now - since).as_secs());
        Some(msg::model_tried(lang, reason, failures, seconds))
    }
}

/// Returns the pause of a call after this many refusals without a `Retry-After` header.
fn default_rate_limit_pause(refusals_before: u32) -> Duration {
    let doubled =
        INITIAL_CLOSE_BACKOFF.saturating_mul(2_u32.saturating_pow(refusals_before.min(10)));
    doubled.min(MAX_CLOSE_BACKOFF)
}

/// Selects the next endpoint among those that did not just fail: open before closed, then the one with the
/// fewest requests.
fn next_endpoint(trials: &[EndpointTrial<'_>]) -> Option<usize> {
    if let [trial] = trials {
        return (!trial.failed_this_round).then_some(0);
    }
    trials
        .iter()
        .enumerate()
        .filter(|(_, trial)| !trial.failed_this_round)
        .min_by_key(|(_, trial)| {
            let limiter = &trial.endpoint.limiter;
            let closed = limiter.closed_for().unwrap_or_default();
            (
                closed.max(trial.remaining_wait(Instant::now())),
                limiter.request_count(),
            )
        })
        .map(|(at, _)| at)
}

/// Returns the response with its cost; estimates the tokens if the endpoint did not report them.
fn build_response(
    endpoint: &ModelEndpoint,
    request: &ModelRequest<'_>,
    draft: AssembledResponse,
    started: Instant,
    attempts: u64,
    permit: EndpointPermit,
) -> ModelResponse {
    let paid = endpoint.settings.prompt_price != 0.0 || endpoint.settings.response_price != 0.0;
    let micros = match draft.usage {
        _ if !paid => 0,
        Some(usage) => endpoint.cost_micros(usage),
        None => {
            let prompt = token_estimate::estimate_tokens(request.messages)
                + token_estimate::estimate_tokens(request.tools);
            endpoint.cost_micros((
                prompt,
                token_estimate::estimate_tokens(draft.message.as_str()),
            ))
        }
    };
    let model = if draft.model.is_empty() {
        endpoint.model_name(request.model_choice).to_owned()
    } else {
        draft.model
    };
    ModelResponse {
        message: draft.message,
        text: draft.text,
        calls: draft.calls,
        dropped_calls: draft.dropped_calls,
        finish: draft.finish,
        usage: draft.usage,
        cost_micros: micros,
        model,
        duration_ms: saturating_cast::<u64>(started.elapsed().as_millis()),
        attempts,
        permit,
    }
}

#[cfg(test)]
mod tests;
