//! Tests of context compaction in whole societies: a context that is too long is summarized, by the runtime
//! or by the member itself, and keeps calls and results together.

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::ConversationEntry;
use polis_society::model::ModelErrorKind;
use polis_testkit::StoreFactory;
use serde_json::json;

use crate::store_factories::on_every_store;
use crate::test_society::{
    FunctionModel, RecordedRequest, ScriptedResponse, conversation_entries, member_state,
    respond_with_call, run_until_settled, send_user_message, start_run, test_app,
};

on_every_store! {
    long_conversation_is_compacted_and_keeps_brief_and_summary
    prompt_refused_as_too_long_is_compacted
    member_compresses_its_own_context
}

fn is_summary_request(asked: &RecordedRequest) -> bool {
    let last = asked.messages.last().unwrap();
    last["content"]
        .as_str()
        .unwrap()
        .contains("Your context is nearly full")
}

async fn long_conversation_is_compacted_and_keeps_brief_and_summary(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "Remember: the word is swordfish.").await;
    let model = FunctionModel::with_context_limit(12_000, |asked| {
        if is_summary_request(asked) {
            return ScriptedResponse::Text("So far so good; the word is swordfish.");
        }
        match asked.response_index {
            0..60 => respond_with_call(
                "put_artifact",
                json!({"type": "text", "content": format!("{} {}", asked.response_index, "x".repeat(1_500))}),
            ),
            _ => ScriptedResponse::Text("done"),
        }
    });
    run_until_settled(&app, &model).await;
    let entries = conversation_entries(&app, "r1/root").await;
    let sums = entries
        .iter()
        .filter(|e| matches!(e, ConversationEntry::Summary { .. }))
        .count();
    assert!(sums >= 2, "{sums}");
    let root = member_state(&app, "r1/root").await;
    assert_eq!(root.status, MemberStatus::Idle);
    assert!(root.first_context_turn > 10);
    let asked = model.requests_of("root");
    // Every prompt fits, and the last one contains the brief and the summary.
    for one in &asked {
        let bytes: usize = one.messages.iter().map(|m| m.to_string().len()).sum();
        assert!(bytes < 12_000 * 4, "{bytes}");
    }
    let last = asked.last().unwrap();
    assert!(last.all_text().contains("the word is swordfish"));
    assert!(
        last.system_prompt()
            .contains("Remember: the word is swordfish.")
    );
    assert_eq!(asked.len() as u64, root.response_count);
}

async fn prompt_refused_as_too_long_is_compacted(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    let run = start_run(&app, "r1", "go").await;
    send_user_message(&app, &run.id, "root", &"long ".repeat(20_000)).await;
    // The model reports a large context limit, but accepts only a small one.
    let model = FunctionModel::new(|asked| {
        let bytes: usize = asked.messages.iter().map(|m| m.to_string().len()).sum();
        if bytes > 20_000 {
            ScriptedResponse::Failure(ModelErrorKind::TooLong)
        } else if is_summary_request(asked) {
            ScriptedResponse::Text("a summary")
        } else {
            ScriptedResponse::Text("done")
        }
    });
    run_until_settled(&app, &model).await;
    let root = member_state(&app, "r1/root").await;
    assert_eq!(
        (root.status, root.received_messages),
        (MemberStatus::Idle, 2)
    );
    let entries = conversation_entries(&app, "r1/root").await;
    assert!(matches!(
        entries.last(),
        Some(ConversationEntry::Response { .. })
    ));
    assert!(model.request_count() < 20, "{}", model.request_count());
}

async fn member_compresses_its_own_context(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "go").await;
    let model = FunctionModel::new(|asked| match asked.response_index {
        0..5 => respond_with_call(
            "TaskCreate",
            json!({"subject": format!("task {}", asked.response_index)}),
        ),
        5 => respond_with_call("get_context_status", json!({})),
        6 => respond_with_call(
            "compress_context",
            json!({"summary": "five tasks are made"}),
        ),
        7 => respond_with_call("TaskCreate", json!({"subject": "another"})),
        _ => ScriptedResponse::Text("done"),
    });
    run_until_settled(&app, &model).await;
    let asked = model.requests_of("root");
    assert!(asked[6].last_content().contains("usedTokens"));
    let (before, after) = (&asked[6], &asked[7]);
    assert!(after.messages.len() < before.messages.len());
    assert!(after.all_text().contains("five tasks are made"));
    assert!(!after.all_text().contains("task 3"));
    assert_eq!(
        member_state(&app, "r1/root").await.status,
        MemberStatus::Idle
    );
}
