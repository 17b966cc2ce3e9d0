//! Loop detection: notices a member that makes the same tool call in response after response. What to do about it is
//! decided in `call`.
//!
//! Counts are taken from the conversation alone, so a restart forgets nothing that is still in the context. Responses
//! are counted, not calls: calls repeated within one response were made before the model saw any result.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use polis_core::Code;
use polis_core::society::turn::CallEnd;
use serde_json::Value;

use crate::model::Call;
use crate::toolbox::Kind;

/// How many responses are remembered.
const KEPT: usize = 64;

/// A limit on repetition.
struct Limit {
    /// How many of the last responses are considered.
    window: usize,
    /// In how many of them a call may occur; in the next one it is not executed.
    allowed: usize,
    /// Number of warnings; with the last one the member is stopped.
    warnings: usize,
}

/// For calls with the same result each time.
const SAME: Limit = Limit {
    window: 24,
    allowed: 3,
    warnings: 3,
};
/// For calls that change something, or return a different result each time, such as polling a running command.
const BUSY: Limit = Limit {
    window: KEPT,
    allowed: 10,
    warnings: 5,
};

/// Decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Execute it.
    Fine,
    /// Give the model this text instead of a result.
    Warn(String),
    /// Give the model this text, and stop the member.
    Stop(String),
}

/// Effect of an earlier call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    /// It changed nothing: a read or a failure, with the hash of its result.
    Nothing(u64),
    /// It changed something outside of the store.
    Outside,
    /// It changed something in the store.
    Inside,
    /// It was not executed, because its result was always the same.
    Same,
    /// It was not executed, because it was made too often.
    Busy,
    /// Something has changed since; remembered, but not counted.
    Past,
}

/// A response: its calls by their fingerprints.
#[derive(Debug, Clone, Default)]
struct Step {
    calls: BTreeMap<u64, Came>,
    /// The member was stopped at this response.
    stopped: bool,
}

/// The last responses, the newest at the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats {
    steps: VecDeque<Step>,
}

fn hashed(parts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

/// Returns a fingerprint that ignores whitespace and the order of keys.
fn fingerprint(call: &Call) -> u64 {
    let text = call.arguments.trim();
    let text = if text.is_empty() { "{}" } else { text };
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            value.sort_all_objects();
            hashed(&[&call.tool, &value.to_string()])
        }
        Err(_) => hashed(&[&call.tool, text]),
    }
}

impl Repeats {
    /// Begins a new response: calls noted from now on belong to it.
    pub(super) fn step(&mut self) {
        // The newest response is not counted: it is the one being judged.
        if self.steps.len() > KEPT {
            self.steps.pop_front();
        }
        self.steps.push_back(Step::default());
    }

    /// Returns the effects of this call in earlier responses, the newest first.
    fn before(&self, call: u64, limit: &Limit) -> impl Iterator<Item = Came> {
        let steps = self.steps.iter().rev().skip(1).take(limit.window);
        let came = steps.filter_map(move |step| step.calls.get(&call).copied());
        came.filter(|came| *came != Came::Past)
    }

    /// Returns how many of the last results in a row are the same. Warnings about it count too.
    fn same(&self, call: u64) -> usize {
        let mut result = None;
        let all = self.before(call, &SAME);
        all.filter(|came| *came != Came::Busy)
            .take_while(|came| match came {
                Came::Nothing(this) => *result.get_or_insert(*this) == *this,
                came => *came == Came::Same,
            })
            .count()
    }

    /// Decides about a call of the newest response.
    pub(super) fn judge(&self, call: &Call) -> Verdict {
        let print = fingerprint(call);
        let (came, limit) = if self.same(print) >= SAME.allowed {
            (Came::Same, &SAME)
        } else if self.before(print, &BUSY).count() >= BUSY.allowed {
            (Came::Busy, &BUSY)
        } else {
            return Verdict::Fine;
        };
        let text = warning(&call.tool, came);
        // Already stopped at this response: the human user must not have to resume it twice.
        let stopped = self.steps.back().is_some_and(|step| step.stopped);
        match !stopped && self.is_last(print, came, limit) {
            true => Verdict::Stop(text),
            false => Verdict::Warn(text),
        }
    }

    /// Returns whether the next warning is the last one.
    fn is_last(&self, call: u64, came: Came, limit: &Limit) -> bool {
        let told = self.before(call, limit).filter(|one| *one == came).count();
        told.saturating_add(1) >= limit.warnings
    }

    /// Records the result of a call of the newest response. `kind` is `None` for an unknown tool.
    pub(super) fn note(&mut self, call: &Call, kind: Option<Kind>, result: &str, end: CallEnd) {
        let print = fingerprint(call);
        let told = |came| end == CallEnd::Failed && result == warning(&call.tool, came);
        let came = match kind {
            _ if told(Came::Same) => Came::Same,
            _ if told(Came::Busy) => Came::Busy,
            Some(Kind::Inside) if end == CallEnd::Ok => Came::Inside,
            Some(Kind::Outside { .. }) if end == CallEnd::Ok => Came::Outside,
            _ => Came::Nothing(hashed(&[result])),
        };
        let stopped = match came {
            Came::Same => self.is_last(print, came, &SAME),
            Came::Busy => self.is_last(print, came, &BUSY),
            Came::Inside | Came::Outside => {
                self.changed(print);
                false
            }
            Came::Nothing(_) | Came::Past => false,
        };
        if let Some(step) = self.steps.back_mut() {
            step.calls.insert(print, came);
            step.stopped |= stopped;
        }
    }

    /// Handles a change. If the same change was not made before, repeating reads and attempts makes sense: a test is
    /// run after each edit.
    fn changed(&mut self, call: u64) {
        if self.steps.iter().any(|step| step.calls.contains_key(&call)) {
            return;
        }
        for step in &mut self.steps {
            for came in step.calls.values_mut() {
                if !matches!(came, Came::Inside | Came::Busy) {
                    *came = Came::Past;
                }
            }
        }
    }

    /// Clears the history when the member receives a message: repeating a call may make sense again.
    pub(super) fn reset(&mut self) {
        self.steps.clear();
    }
}

/// Returns the text that the model gets instead of a result.
fn warning(tool: &str, came: Came) -> String {
    let code = Code::RepeatedCall;
    match came {
        Came::Busy => format!(
            "{code}: {tool} with these arguments stands in {} of your last answers; it was not carried out again.\n\
             Next: do something else, or stop calling tools and wait for a message; if you wait for something, \
             wait longer in one call",
            BUSY.allowed
        ),
        _ => format!(
            "{code}: {tool} with these arguments came to the same in {} of your answers; it was not carried out \
             again.\nNext: do something else, or stop calling tools and wait for a message",
            SAME.allowed
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Option<Kind> = Some(Kind::Look);
    const PUT: Option<Kind> = Some(Kind::Inside);
    const RUN: Option<Kind> = Some(Kind::Outside { again: false });

    /// The calls of responses: tools and arguments.
    type Answers<'a> = &'a [&'a [(&'a str, &'a str)]];
    /// The result of a call in the response of this number.
    type Result = fn(usize) -> (String, CallEnd);

    fn same(_: usize) -> (String, CallEnd) {
        ("same".to_owned(), CallEnd::Ok)
    }
    fn other(n: usize) -> (String, CallEnd) {
        (format!("{n}"), CallEnd::Ok)
    }
    fn refused(_: usize) -> (String, CallEnd) {
        ("no".to_owned(), CallEnd::Failed)
    }

    fn call(tool: &str, arguments: &str) -> Call {
        Call {
            id: "1".to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    /// Handles a call as the machine does: `.` is executed, `w` warned, `S` stopped.
    fn take(
        repeats: &mut Repeats,
        call: &Call,
        kind: Option<Kind>,
        came: (String, CallEnd),
    ) -> char {
        let (sign, (text, end)) = match repeats.judge(call) {
            Verdict::Fine => ('.', came),
            Verdict::Warn(text) => ('w', (text, CallEnd::Failed)),
            Verdict::Stop(text) => ('S', (text, CallEnd::Failed)),
        };
        repeats.note(call, kind, &text, end);
        sign
    }

    /// Repeats these responses until the member is stopped; returns the decisions about all calls.
    fn round(answers: Answers, kind: Option<Kind>, came: Result) -> String {
        let mut repeats = Repeats::default();
        let mut signs = String::new();
        for (n, calls) in answers.iter().cycle().take(200).enumerate() {
            repeats.step();
            for (tool, arguments) in *calls {
                signs.push(take(&mut repeats, &call(tool, arguments), kind, came(n)));
            }
            if signs.contains('S') {
                return signs;
            }
        }
        format!("never: {signs}")
    }

    #[test]
    fn circles_are_told_and_then_stopped() {
        let list = ("list_files", "{}");
        let org = ("get_org", "{}");
        let busy = "..........wwwwS";
        let cases: &[(Answers, _, Result, &str)] = &[
            (&[&[list]], LOOK, same, "...wwS"),
            // Two in one response, and one in each.
            (&[&[list, org]], LOOK, same, "......wwwwSw"),
            (&[&[list], &[org]], LOOK, same, "......wwwwS"),
            // Whitespace and order do not matter, nor do omitted arguments.
            (
                &[
                    &[("t", "{\"a\":1,\"b\":{\"c\":2,\"d\":3}}")],
                    &[("t", " { \"b\":{\"d\":3, \"c\":2},\"a\" : 1 }")],
                ],
                LOOK,
                same,
                "...wwS",
            ),
            (&[&[("t", "")], &[("t", "{}")]], LOOK, same, "...wwS"),
            // An unknown tool, invalid JSON, a refusal.
            (&[&[("nosuch", "{}")]], None, refused, "...wwS"),
            (&[&[("TaskCreate", "{\"a\":")]], PUT, refused, "...wwS"),
            (&[&[("spawn_agent", "{}")]], PUT, refused, "...wwS"),
            // Calls that change something, and calls with a different result each time.
            (&[&[("send_message", "{}")]], PUT, same, busy),
            (&[&[("TaskCreate", "{}")]], PUT, other, busy),
            (&[&[("run_command", "{}")]], RUN, same, busy),
            (&[&[("command_output", "{}")]], LOOK, other, busy),
            // Each of two changes counts as new only once.
            (
                &[&[("run_command", "[1]")], &[("run_command", "[2]")]],
                RUN,
                same,
                ".....................wwwwwwwwS",
            ),
            // Many calls at once belong to one response.
            (&[&[list; 4]], LOOK, same, "............wwwwwwwwSwww"),
            (
                &[&[("spawn_agent", "{}"); 3]],
                PUT,
                refused,
                ".........wwwwwwSww",
            ),
        ];
        for (answers, kind, came, signs) in cases {
            assert_eq!(round(answers, *kind, *came), *signs, "{answers:?}");
        }
    }

    #[test]
    fn circles_of_many_answers_are_seen_too() {
        for (length, kind, came, seen) in [
            (8, LOOK, same as Result, true),
            (9, LOOK, same, false),
            (6, PUT, other, true),
            (7, PUT, other, false),
        ] {
            let names: Vec<String> = (0..length).map(|n| format!("t{n}")).collect();
            let answers: Vec<_> = names.iter().map(|name| [(name.as_str(), "{}")]).collect();
            let answers: Vec<&[(&str, &str)]> = answers.iter().map(|one| &one[..]).collect();
            let signs = round(&answers, kind, came);
            assert_eq!(signs.ends_with('S'), seen, "{length} {kind:?}: {signs}");
        }
    }

    #[test]
    fn one_answer_alone_is_never_told() {
        let mut repeats = Repeats::default();
        repeats.step();
        for _ in 0..100 {
            assert_eq!(take(&mut repeats, &call("t", "{}"), LOOK, same(0)), '.');
        }
    }

    #[test]
    fn new_words_begin_anew() {
        let mut repeats = Repeats::default();
        for n in 0..40 {
            if n % 3 == 0 {
                repeats.reset();
            }
            repeats.step();
            assert_eq!(take(&mut repeats, &call("t", "{}"), LOOK, same(n)), '.');
        }
    }

    #[test]
    fn a_new_change_lets_look_and_try_again_but_not_tell_again() {
        let mut repeats = Repeats::default();
        let mut told = String::new();
        for n in 0..40 {
            repeats.step();
            let edit = call("write_file", &format!("{{\"n\":{n}}}"));
            assert_eq!(take(&mut repeats, &edit, RUN, same(n)), '.');
            repeats.step();
            for (tool, kind) in [("run_command", RUN), ("list_files", LOOK)] {
                assert_eq!(
                    take(&mut repeats, &call(tool, "{}"), kind, same(n)),
                    '.',
                    "{n}"
                );
            }
            told.push(take(
                &mut repeats,
                &call("send_message", "{}"),
                PUT,
                other(n),
            ));
        }
        assert!(told.starts_with("..........wwwwS"), "{told}");
    }

    #[test]
    fn no_more_is_kept_than_is_counted() {
        let mut repeats = Repeats::default();
        for n in 0..1_000 {
            repeats.step();
            take(&mut repeats, &call("t", &format!("[{n}]")), LOOK, same(n));
        }
        assert_eq!(repeats.steps.len(), KEPT + 1);
    }
}
