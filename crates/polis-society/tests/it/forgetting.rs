//! Context compaction in whole societies: contexts that grow too long.

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::Entry;
use polis_society::model::ModelFault;
use polis_testkit::Ground;
use serde_json::json;

use crate::ground::on_every_store;
use crate::stage::{Asked, Say, Script, begin, call, conversation, play, polis, state, tell};

on_every_store! {
    a_long_conversation_is_summed_up_and_nothing_is_torn
    a_prompt_that_the_model_refuses_as_too_long_is_made_smaller
    a_member_makes_its_context_smaller_itself
}

fn is_summary(asked: &Asked) -> bool {
    let last = asked.messages.last().unwrap();
    last["content"]
        .as_str()
        .unwrap()
        .contains("Your context is nearly full")
}

async fn a_long_conversation_is_summed_up_and_nothing_is_torn(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "Remember: the word is swordfish.").await;
    let model = Script::limited(12_000, |asked| {
        if is_summary(asked) {
            return Say::Done("So far so good; the word is swordfish.");
        }
        match asked.number {
            0..60 => call(
                "put_artifact",
                json!({"type": "text", "content": format!("{} {}", asked.number, "x".repeat(1_500))}),
            ),
            _ => Say::Done("done"),
        }
    });
    play(&polis, &model).await;
    let entries = conversation(&polis, "r1/root").await;
    let sums = entries
        .iter()
        .filter(|e| matches!(e, Entry::Summed { .. }))
        .count();
    assert!(sums >= 2, "{sums}");
    let root = state(&polis, "r1/root").await;
    assert_eq!(root.status, MemberStatus::Idle);
    assert!(root.since > 10);
    let asked = model.of_agent("root");
    // Every prompt fits, and the last one contains the brief and the summary.
    for one in &asked {
        let bytes: usize = one.messages.iter().map(|m| m.to_string().len()).sum();
        assert!(bytes < 12_000 * 4, "{bytes}");
    }
    let last = asked.last().unwrap();
    assert!(last.all().contains("the word is swordfish"));
    assert!(last.system().contains("Remember: the word is swordfish."));
    assert_eq!(asked.len() as u64, root.answers);
}

async fn a_prompt_that_the_model_refuses_as_too_long_is_made_smaller(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    let run = begin(&polis, "r1", "go").await;
    tell(&polis, &run.id, "root", &"long ".repeat(20_000)).await;
    // The model reports a large context limit, but accepts only a small one.
    let model = Script::of(|asked| {
        let bytes: usize = asked.messages.iter().map(|m| m.to_string().len()).sum();
        match bytes > 20_000 {
            true => Say::Fail(ModelFault::TooLong),
            false if is_summary(asked) => Say::Done("a summary"),
            false => Say::Done("done"),
        }
    });
    play(&polis, &model).await;
    let root = state(&polis, "r1/root").await;
    assert_eq!((root.status, root.heard), (MemberStatus::Idle, 2));
    let entries = conversation(&polis, "r1/root").await;
    assert!(matches!(entries.last(), Some(Entry::Said { .. })));
    assert!(model.count() < 20, "{}", model.count());
}

async fn a_member_makes_its_context_smaller_itself(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "go").await;
    let model = Script::of(|asked| match asked.number {
        0..5 => call(
            "TaskCreate",
            json!({"subject": format!("task {}", asked.number)}),
        ),
        5 => call("get_context_status", json!({})),
        6 => call(
            "compress_context",
            json!({"summary": "five tasks are made"}),
        ),
        7 => call("TaskCreate", json!({"subject": "another"})),
        _ => Say::Done("done"),
    });
    play(&polis, &model).await;
    let asked = model.of_agent("root");
    assert!(asked[6].last().contains("usedTokens"));
    let (before, after) = (&asked[6], &asked[7]);
    assert!(after.messages.len() < before.messages.len());
    assert!(after.all().contains("five tasks are made"));
    assert!(!after.all().contains("task 3"));
    assert_eq!(state(&polis, "r1/root").await.status, MemberStatus::Idle);
}
