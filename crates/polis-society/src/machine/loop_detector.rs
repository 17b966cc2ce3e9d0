//! Loop detection: recognizes a member that makes the same tool call in response after response.
//! [`LoopDetector::check_call`] decides whether a call is executed, is answered with a warning, or pauses the
//! member; `tool_calls` carries that out. Calls whose result is always the same have a stricter limit than
//! calls that change something or return different results.
//!
//! A received message clears the history. After a new change, earlier reads and commands no longer count.
//! The history is rebuilt from the conversation, so it survives a restart. Responses are counted, not
//! calls: calls within one response were made before the model saw any result.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use polis_core::society::turn::CallOutcome;
use polis_i18n::{UiLanguage, msg};
use serde_json::Value;

use crate::model::ToolCall;
use crate::refusal_tables::SocietyCode;
use crate::toolbox::ToolExecution;

/// How many responses are remembered.
const MAX_REMEMBERED_RESPONSES: usize = 64;

/// A limit on repetition.
struct RepetitionLimit {
    /// How many of the last responses are considered.
    window: usize,
    /// In how many of them a call may occur; in the next one it is not executed.
    allowed: usize,
    /// Number of warnings; with the last one the member is paused.
    warnings: usize,
}

/// For calls with the same result each time.
const SAME_RESULT_LIMIT: RepetitionLimit = RepetitionLimit {
    window: 24,
    allowed: 3,
    warnings: 3,
};
/// For calls that change something, or return a different result each time, such as polling a running
/// command.
const REPEATED_CALL_LIMIT: RepetitionLimit = RepetitionLimit {
    window: MAX_REMEMBERED_RESPONSES,
    allowed: 10,
    warnings: 5,
};

/// Decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LoopVerdict {
    /// Execute the call.
    Execute,
    /// Give the model this text instead of a result.
    Warn(String),
    /// Give the model this text, and pause the member.
    Stop(String),
}

/// Effect of an earlier call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PriorCallEffect {
    /// It changed nothing: a read or a failure, with the hash of its result.
    Unchanged(u64),
    /// It changed something outside of the store.
    ExternalChange,
    /// It changed something in the store.
    StoreChange,
    /// It was not executed, because its result was always the same.
    SameResultWarning,
    /// It was not executed, because it was made too often.
    RepetitionWarning,
    /// Something has changed since; remembered, but not counted.
    Superseded,
}

/// A response: its calls by their fingerprints.
#[derive(Debug, Clone, Default)]
struct ObservedResponse {
    calls: BTreeMap<u64, PriorCallEffect>,
    /// The call at which the member was paused.
    pausing_call: Option<u64>,
}

/// The last responses, the newest at the end.
#[derive(Debug, Clone, Default)]
pub(super) struct LoopDetector {
    responses: VecDeque<ObservedResponse>,
}

/// Returns a hash of these texts.
fn hash_parts(parts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

/// Returns a fingerprint that ignores whitespace and the order of keys.
fn call_fingerprint(call: &ToolCall) -> u64 {
    let text = call.arguments.trim();
    let text = if text.is_empty() { "{}" } else { text };
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            value.sort_all_objects();
            hash_parts(&[&call.tool, &value.to_string()])
        }
        Err(_) => hash_parts(&[&call.tool, text]),
    }
}

impl LoopDetector {
    /// Begins a new response: calls noted from now on belong to it.
    pub(super) fn begin_response(&mut self) {
        // The newest response is not counted: it is the one being judged.
        if self.responses.len() > MAX_REMEMBERED_RESPONSES {
            self.responses.pop_front();
        }
        self.responses.push_back(ObservedResponse::default());
    }

    /// Returns the effects of this call in earlier responses, the newest first.
    fn earlier_effects(
        &self,
        call: u64,
        limit: &RepetitionLimit,
    ) -> impl Iterator<Item = PriorCallEffect> {
        let steps = self.responses.iter().rev().skip(1).take(limit.window);
        let effects = steps.filter_map(move |step| step.calls.get(&call).copied());
        effects.filter(|effect| *effect != PriorCallEffect::Superseded)
    }

    /// Returns how many of the last results in a row are the same. Warnings about it count too.
    fn count_same_results(&self, call: u64) -> usize {
        let mut result = None;
        let effects = self.earlier_effects(call, &SAME_RESULT_LIMIT);
        effects
            .filter(|effect| *effect != PriorCallEffect::RepetitionWarning)
            .take_while(|effect| match effect {
                PriorCallEffect::Unchanged(hash) => *result.get_or_insert(*hash) == *hash,
                effect => *effect == PriorCallEffect::SameResultWarning,
            })
            .count()
    }

    /// Returns whether a call of the newest response is executed, answered with a warning in this language, or
    /// pauses the member.
    pub(super) fn check_call(&self, call: &ToolCall, lang: UiLanguage) -> LoopVerdict {
        let fingerprint = call_fingerprint(call);
        let (warning, limit) = if self.count_same_results(fingerprint) >= SAME_RESULT_LIMIT.allowed
        {
            (PriorCallEffect::SameResultWarning, &SAME_RESULT_LIMIT)
        } else if self
            .earlier_effects(fingerprint, &REPEATED_CALL_LIMIT)
            .count()
            >= REPEATED_CALL_LIMIT.allowed
        {
            (PriorCallEffect::RepetitionWarning, &REPEATED_CALL_LIMIT)
        } else {
            return LoopVerdict::Execute;
        };
        let text = warning_text(&call.tool, warning, lang);
        // Already paused at this response: the person must not have to resume it twice.
        let stopped = self
            .responses
            .back()
            .is_some_and(|step| step.pausing_call.is_some());
        if !stopped && self.is_last_warning(fingerprint, warning, limit) {
            LoopVerdict::Stop(text)
        } else {
            LoopVerdict::Warn(text)
        }
    }

    /// Returns whether the next warning is the last one.
    fn is_last_warning(
        &self,
        call: u64,
        warning: PriorCallEffect,
        limit: &RepetitionLimit,
    ) -> bool {
        let earlier_warnings = self
            .earlier_effects(call, limit)
            .filter(|effect| *effect == warning)
            .count();
        earlier_warnings.saturating_add(1) >= limit.warnings
    }

    /// Records the result of a call of the newest response. `kind` is `None` for an unknown tool.
    pub(super) fn record_result(
        &mut self,
        call: &ToolCall,
        kind: Option<ToolExecution>,
        result: &str,
        end: CallOutcome,
    ) {
        let fingerprint = call_fingerprint(call);
        // The conversation may be older than a change of the language.
        let is_warning = |effect| {
            let mut languages = [UiLanguage::En, UiLanguage::Zh].into_iter();
            end == CallOutcome::Failed
                && languages.any(|lang| result == warning_text(&call.tool, effect, lang))
        };
        let effect = match kind {
            _ if is_warning(PriorCallEffect::SameResultWarning) => {
                PriorCallEffect::SameResultWarning
            }
            _ if is_warning(PriorCallEffect::RepetitionWarning) => {
                PriorCallEffect::RepetitionWarning
            }
            Some(ToolExecution::StoreCommit) if end == CallOutcome::Ok => {
                PriorCallEffect::StoreChange
            }
            Some(ToolExecution::External { .. }) if end == CallOutcome::Ok => {
                PriorCallEffect::ExternalChange
            }
            Some(
                ToolExecution::Builtin(_)
                | ToolExecution::ReadOnly
                | ToolExecution::StoreCommit
                | ToolExecution::MailboxCommit
                | ToolExecution::External { .. },
            )
            | None => PriorCallEffect::Unchanged(hash_parts(&[result])),
        };
        let stopped = match effect {
            PriorCallEffect::SameResultWarning => {
                self.is_last_warning(fingerprint, effect, &SAME_RESULT_LIMIT)
            }
            PriorCallEffect::RepetitionWarning => {
                self.is_last_warning(fingerprint, effect, &REPEATED_CALL_LIMIT)
            }
            PriorCallEffect::StoreChange | PriorCallEffect::ExternalChange => {
                self.supersede_earlier_calls(fingerprint);
                false
            }
            PriorCallEffect::Unchanged(_) | PriorCallEffect::Superseded => false,
        };
        if let Some(step) = self.responses.back_mut() {
            step.calls.insert(fingerprint, effect);
            if stopped {
                step.pausing_call = Some(fingerprint);
            }
        }
    }

    /// Stops counting earlier reads and attempts after a change that was not made before: repeating them
    /// makes sense then, as a test is run after each edit.
    fn supersede_earlier_calls(&mut self, call: u64) {
        if self
            .responses
            .iter()
            .any(|step| step.calls.contains_key(&call))
        {
            return;
        }
        for step in &mut self.responses {
            for effect in step.calls.values_mut() {
                if !matches!(
                    effect,
                    PriorCallEffect::StoreChange | PriorCallEffect::RepetitionWarning
                ) {
                    *effect = PriorCallEffect::Superseded;
                }
            }
        }
    }

    /// Clears the history when the member receives a message: repeating a call may make sense again.
    pub(super) fn reset(&mut self) {
        self.responses.clear();
    }
}

/// Returns the text that the model gets instead of a result.
fn warning_text(tool: &str, warning: PriorCallEffect, lang: UiLanguage) -> String {
    let (sentence, hint) = match warning {
        PriorCallEffect::RepetitionWarning => (
            msg::society_repeated_call(lang, tool, REPEATED_CALL_LIMIT.allowed),
            msg::society_repeated_call_hint(lang),
        ),
        _ => (
            msg::society_same_result(lang, tool, SAME_RESULT_LIMIT.allowed),
            msg::society_same_result_hint(lang),
        ),
    };
    let (code, next) = (
        SocietyCode::REPEATED_CALL,
        msg::refusal_next_step(lang, hint),
    );
    format!("{code}: {sentence}\n{next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ_ONLY: Option<ToolExecution> = Some(ToolExecution::ReadOnly);
    const STORE_COMMIT: Option<ToolExecution> = Some(ToolExecution::StoreCommit);
    const EXTERNAL: Option<ToolExecution> = Some(ToolExecution::External { idempotent: false });

    /// The calls of responses: tools and arguments.
    type ResponseScript<'a> = &'a [&'a [(&'a str, &'a str)]];
    /// The result of a call in the response of this number.
    type ResultOfCall = fn(usize) -> (String, CallOutcome);

    fn same_result(_: usize) -> (String, CallOutcome) {
        ("same".to_owned(), CallOutcome::Ok)
    }
    fn different_result(n: usize) -> (String, CallOutcome) {
        (format!("{n}"), CallOutcome::Ok)
    }
    fn refused_result(_: usize) -> (String, CallOutcome) {
        ("no".to_owned(), CallOutcome::Failed)
    }

    fn tool_call(tool: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: "1".to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    /// Handles a call as the machine does: `.` is executed, `w` warned, `S` stopped.
    fn check_and_record(
        repeats: &mut LoopDetector,
        call: &ToolCall,
        kind: Option<ToolExecution>,
        result: (String, CallOutcome),
    ) -> char {
        let (verdict, (text, end)) = match repeats.check_call(call, UiLanguage::En) {
            LoopVerdict::Execute => ('.', result),
            LoopVerdict::Warn(text) => ('w', (text, CallOutcome::Failed)),
            LoopVerdict::Stop(text) => ('S', (text, CallOutcome::Failed)),
        };
        repeats.record_result(call, kind, &text, end);
        verdict
    }

    #[test]
    fn warning_in_another_language_is_recognized() {
        let call = tool_call("t", "{}");
        let mut repeats = LoopDetector::default();
        let mut verdicts = Vec::new();
        for lang in [UiLanguage::Zh, UiLanguage::En].into_iter().cycle().take(6) {
            repeats.begin_response();
            let verdict = repeats.check_call(&call, lang);
            let (text, end) = match &verdict {
                LoopVerdict::Execute => ("same", CallOutcome::Ok),
                LoopVerdict::Warn(text) | LoopVerdict::Stop(text) => {
                    (text.as_str(), CallOutcome::Failed)
                }
            };
            repeats.record_result(&call, READ_ONLY, text, end);
            verdicts.push(verdict);
        }
        assert!(
            matches!(verdicts.last(), Some(LoopVerdict::Stop(_))),
            "{verdicts:?}"
        );
    }

    /// Repeats these responses until the member is stopped; returns the decisions about all calls.
    fn repeat_until_stopped(
        answers: ResponseScript,
        kind: Option<ToolExecution>,
        result: ResultOfCall,
    ) -> String {
        let mut repeats = LoopDetector::default();
        let mut verdicts = String::new();
        for (n, calls) in answers.iter().cycle().take(200).enumerate() {
            repeats.begin_response();
            for (tool, arguments) in *calls {
                verdicts.push(check_and_record(
                    &mut repeats,
                    &tool_call(tool, arguments),
                    kind,
                    result(n),
                ));
            }
            if verdicts.contains('S') {
                return verdicts;
            }
        }
        format!("never: {verdicts}")
    }

    #[test]
    fn repeated_calls_are_warned_and_then_stopped() {
        let list = ("list_files", "{}");
        let org = ("get_org", "{}");
        let busy = "..........wwwwS";
        let cases: &[(ResponseScript, _, ResultOfCall, &str)] = &[
            (&[&[list]], READ_ONLY, same_result, "...wwS"),
            // Two in one response, and one in each.
            (&[&[list, org]], READ_ONLY, same_result, "......wwwwSw"),
            (&[&[list], &[org]], READ_ONLY, same_result, "......wwwwS"),
            // Whitespace and order do not matter, nor do omitted arguments.
            (
                &[
                    &[("t", "{\"a\":1,\"b\":{\"c\":2,\"d\":3}}")],
                    &[("t", " { \"b\":{\"d\":3, \"c\":2},\"a\" : 1 }")],
                ],
                READ_ONLY,
                same_result,
                "...wwS",
            ),
            (
                &[&[("t", "")], &[("t", "{}")]],
                READ_ONLY,
                same_result,
                "...wwS",
            ),
            // An unknown tool, invalid JSON, a refusal.
            (&[&[("nosuch", "{}")]], None, refused_result, "...wwS"),
            (
                &[&[("TaskCreate", "{\"a\":")]],
                STORE_COMMIT,
                refused_result,
                "...wwS",
            ),
            (
                &[&[("spawn_agent", "{}")]],
                STORE_COMMIT,
                refused_result,
                "...wwS",
            ),
            // Calls that change something, and calls with a different result each time.
            (
                &[&[("send_message", "{}")]],
                STORE_COMMIT,
                same_result,
                busy,
            ),
            (
                &[&[("TaskCreate", "{}")]],
                STORE_COMMIT,
                different_result,
                busy,
            ),
            (&[&[("run_command", "{}")]], EXTERNAL, same_result, busy),
            (
                &[&[("command_output", "{}")]],
                READ_ONLY,
                different_result,
                busy,
            ),
            // Each of two changes counts as new only once.
            (
                &[&[("run_command", "[1]")], &[("run_command", "[2]")]],
                EXTERNAL,
                same_result,
                ".....................wwwwwwwwS",
            ),
            // Many calls at once belong to one response.
            (
                &[&[list; 4]],
                READ_ONLY,
                same_result,
                "............wwwwwwwwSwww",
            ),
            (
                &[&[("spawn_agent", "{}"); 3]],
                STORE_COMMIT,
                refused_result,
                ".........wwwwwwSww",
            ),
        ];
        for (answers, kind, result, verdicts) in cases {
            assert_eq!(
                repeat_until_stopped(answers, *kind, *result),
                *verdicts,
                "{answers:?}"
            );
        }
    }

    #[test]
    fn loops_over_several_responses_are_detected() {
        for (length, kind, result, detected) in [
            (8, READ_ONLY, same_result as ResultOfCall, true),
            (9, READ_ONLY, same_result, false),
            (6, STORE_COMMIT, different_result, true),
            (7, STORE_COMMIT, different_result, false),
        ] {
            let names: Vec<String> = (0..length).map(|n| format!("t{n}")).collect();
            let answers: Vec<_> = names.iter().map(|name| [(name.as_str(), "{}")]).collect();
            let answers: Vec<&[(&str, &str)]> = answers.iter().map(|one| &one[..]).collect();
            let verdicts = repeat_until_stopped(&answers, kind, result);
            assert_eq!(
                verdicts.ends_with('S'),
                detected,
                "{length} {kind:?}: {verdicts}"
            );
        }
    }

    #[test]
    fn repetition_within_one_response_is_not_warned() {
        let mut repeats = LoopDetector::default();
        repeats.begin_response();
        for _ in 0..100 {
            assert_eq!(
                check_and_record(
                    &mut repeats,
                    &tool_call("t", "{}"),
                    READ_ONLY,
                    same_result(0)
                ),
                '.'
            );
        }
    }

    #[test]
    fn received_message_resets_the_history() {
        let mut repeats = LoopDetector::default();
        for n in 0..40 {
            if n % 3 == 0 {
                repeats.reset();
            }
            repeats.begin_response();
            assert_eq!(
                check_and_record(
                    &mut repeats,
                    &tool_call("t", "{}"),
                    READ_ONLY,
                    same_result(n)
                ),
                '.'
            );
        }
    }

    #[test]
    fn new_change_allows_repeated_reads_and_commands_but_not_messages() {
        let mut repeats = LoopDetector::default();
        let mut verdicts = String::new();
        for n in 0..40 {
            repeats.begin_response();
            let edit = tool_call("write_file", &format!("{{\"n\":{n}}}"));
            assert_eq!(
                check_and_record(&mut repeats, &edit, EXTERNAL, same_result(n)),
                '.'
            );
            repeats.begin_response();
            for (tool, kind) in [("run_command", EXTERNAL), ("list_files", READ_ONLY)] {
                assert_eq!(
                    check_and_record(&mut repeats, &tool_call(tool, "{}"), kind, same_result(n)),
                    '.',
                    "{n}"
                );
            }
            verdicts.push(check_and_record(
                &mut repeats,
                &tool_call("send_message", "{}"),
                STORE_COMMIT,
                different_result(n),
            ));
        }
        assert!(verdicts.starts_with("..........wwwwS"), "{verdicts}");
    }

    #[test]
    fn history_is_bounded() {
        let mut repeats = LoopDetector::default();
        for n in 0..1_000 {
            repeats.begin_response();
            check_and_record(
                &mut repeats,
                &tool_call("t", &format!("[{n}]")),
                READ_ONLY,
                same_result(n),
            );
        }
        assert_eq!(repeats.responses.len(), MAX_REMEMBERED_RESPONSES + 1);
    }
}
