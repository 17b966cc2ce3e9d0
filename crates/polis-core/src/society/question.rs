//! Questions to the person: detects which messages ask a question, and which messages of the person answer
//! them.
//!
//! Both are derived from the messages themselves; no state is stored.

use crate::message::Message;

/// Returns whether a message to the person asks for an answer: one of its lines ends with a question mark.
pub fn is_question(text: &str) -> bool {
    let closing = ['"', '\'', ')', '*', '_', '`', '”', '’', '）', '」', '»'];
    text.lines().any(|line| {
        line.trim_end()
            .trim_end_matches(closing)
            .ends_with(['?', '？'])
    })
}

/// Returns whether a later message from the person to the asking member answers its question. A reply answers
/// the message it names; a message that is not a reply answers all earlier questions of the member.
pub fn answers_question(question: &Message, message: &Message) -> bool {
    message.from.is_user()
        && message.to == question.from
        && message.id > question.id
        && message.reply_to.is_none_or(|id| id == question.id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn line_ending_with_a_question_mark_is_a_question() {
        for (text, expected) in [
            ("Which language?", true),
            ("用什么语言？", true),
            ("Which one?\n- Rust\n- Go", true),
            ("Shall I go on (yes or no?)", true),
            ("Delivered: see README.md.", false),
            ("The function `a?b` is done.", false),
            ("", false),
        ] {
            assert_eq!(is_question(text), expected, "{text}");
        }
    }

    #[test]
    fn reply_answers_one_question_and_other_message_answers_all() {
        let message = |id: u64, from: &str, to: &str, reply_to: Option<u64>| -> Message {
            serde_json::from_value(json!({
                "id": id, "from": from, "to": to, "createdAt": "2026-01-01T00:00:00.000Z",
                "replyTo": reply_to, "payload": "?",
            }))
            .unwrap()
        };
        let first = message(3, "arch", "user", None);
        let second = message(5, "arch", "user", None);
        for (answer, of_first, of_second) in [
            (message(7, "user", "arch", None), true, true),
            (message(7, "user", "arch", Some(3)), true, false),
            (message(7, "user", "arch", Some(5)), false, true),
            (message(4, "user", "arch", None), true, false),
            (message(7, "user", "dev", None), false, false),
            (message(7, "dev", "arch", None), false, false),
        ] {
            let answered = (
                answers_question(&first, &answer),
                answers_question(&second, &answer),
            );
            assert_eq!(answered, (of_first, of_second), "{answer:?}");
        }
    }
}
