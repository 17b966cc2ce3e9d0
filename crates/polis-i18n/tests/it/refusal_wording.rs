//! Tests for the wording of refusals: texts that requirements prescribe, lists and plural forms, and the names
//! that each surface uses.

use polis_core::refusal::{
    AgentRefusal, ListArg, ListStyle, Reason, ReasonArg, SectionRefusal, TaskRefusal,
};
use polis_core::{Refusal, TaskId, TaskStatus};
use polis_i18n::{Surface, UiLanguage, render_reason};

fn message(refusal: impl Into<Refusal>, surface: Surface, lang: UiLanguage) -> String {
    render_reason(&refusal.into().reason, surface, lang).message
}

fn hint(refusal: impl Into<Refusal>, surface: Surface, lang: UiLanguage) -> String {
    render_reason(&refusal.into().reason, surface, lang).hint
}

#[test]
fn transition_refusals_have_the_documented_wording() {
    use TaskStatus::{Completed, Deleted, InProgress, Pending};
    let refused = |from: TaskStatus, to, lead| {
        let refusal = from.check_transition(to, lead).unwrap_err();
        message(refusal, Surface::Cli, UiLanguage::En)
    };
    assert_eq!(
        refused(Completed, Pending, false),
        "Invalid status transition: \"completed\" -> \"pending\".\n\
         Allowed transitions from \"completed\": [\"deleted\"] (team-lead only)."
    );
    assert_eq!(
        refused(InProgress, Pending, true),
        "Invalid status transition: \"in_progress\" -> \"pending\".\n\
         Allowed transitions from \"in_progress\": [\"completed\", \"deleted\"]."
    );
    assert!(refused(Deleted, Pending, true).ends_with("from \"deleted\": []."));
}

#[test]
fn prescribed_sentences_are_verbatim() {
    let version = TaskRefusal::VersionMismatch {
        expected: 3,
        current: 5,
        task: "7".parse().unwrap(),
    };
    assert_eq!(
        message(version, Surface::Tool, UiLanguage::En),
        "Task version mismatch. Expected: 3, Current: 5.\n\
         Another agent has modified this task. Please refresh and retry."
    );
    assert_eq!(
        message(
            TaskRefusal::ForceAssignForbidden,
            Surface::Tool,
            UiLanguage::En
        ),
        "Only team-lead can use forceAssign"
    );
    let mismatch = TaskRefusal::RoleMismatch {
        required: "qa".to_owned(),
        role: "dev".to_owned(),
    };
    assert_eq!(
        message(mismatch.clone(), Surface::Tool, UiLanguage::En),
        "Role mismatch. Task requires \"qa\", but you are \"dev\".\n\
         Use TaskList({ roleFilter: \"dev\" }) to find tasks for your role."
    );
    // The call is only for models.
    for surface in [Surface::Cli, Surface::Screen] {
        assert_eq!(
            message(mismatch.clone(), surface, UiLanguage::En),
            "Role mismatch. Task requires \"qa\", but you are \"dev\"."
        );
    }
}

#[test]
fn hint_names_what_its_surface_has() {
    let claimed = TaskRefusal::AlreadyClaimed {
        task: "1".parse().unwrap(),
        owner: "ada".to_owned(),
    };
    for (surface, expected) in [
        (
            Surface::Cli,
            "claim another one (`polis task claim` takes the best ready task), or ask its owner to release it",
        ),
        (
            Surface::Tool,
            "claim another one (`TaskClaim` without taskId takes the best ready one), or ask its owner to release it",
        ),
        (
            Surface::Http,
            "claim another one (`POST /v1/tasks/claim` without taskId takes the best ready one), or ask its owner to release it",
        ),
        (
            Surface::Screen,
            "choose another task, or ask its owner to release it",
        ),
    ] {
        assert_eq!(hint(claimed.clone(), surface, UiLanguage::En), expected);
    }
    assert_eq!(
        hint(claimed, Surface::Screen, UiLanguage::Zh),
        "请选择其他任务，或请负责人释放它"
    );
}

#[test]
fn reading_tool_is_not_sent_back_to_itself() {
    let refused = |tool| {
        let refusal = "x".parse::<TaskId>().unwrap_err();
        let reason = refusal.reason.with_called_tool(tool);
        render_reason(&reason, Surface::Tool, UiLanguage::En).hint
    };
    assert_eq!(refused("TaskGet"), "list the tasks with `TaskList`");
    assert_eq!(
        refused("TaskList"),
        "correct the arguments according to the tool's input schema"
    );
}

#[test]
fn counts_select_their_form_and_lists_are_joined() {
    let owner = |count| AgentRefusal::RetireOwner {
        agent: "ada".parse().unwrap(),
        count,
        task: "4".parse().unwrap(),
    };
    assert_eq!(
        message(owner(1), Surface::Cli, UiLanguage::En),
        "Agent \"ada\" still owns 1 unfinished task, #4 among them."
    );
    assert_eq!(
        message(owner(2), Surface::Cli, UiLanguage::En),
        "Agent \"ada\" still owns 2 unfinished tasks, #4 among them."
    );
    let sections = SectionRefusal::NotFound {
        title: "\"x\"".to_owned(),
        titles: vec!["\"a\"".to_owned(), "\"b\"".to_owned()],
    };
    assert_eq!(
        message(sections.clone(), Surface::Cli, UiLanguage::En),
        "Section \"x\" not found. Sections: \"a\", \"b\"."
    );
    assert_eq!(
        message(sections, Surface::Cli, UiLanguage::Zh),
        "没有章节 \"x\"。现有章节：\"a\"、\"b\"。"
    );
    let role = |count: usize| {
        let differences = [
            "role-difference-prompt",
            "role-difference-tools",
            "role-difference-model",
        ];
        let items = differences.into_iter().take(count).map(Reason::new);
        let reason = Reason::new("society-role-differs")
            .with_arg("role", "\"dev\"")
            .with_arg("differences", ListArg::new(ListStyle::Conjunction, items))
            .with_arg("role_id", "dev");
        render_reason(&reason, Surface::Tool, UiLanguage::En).message
    };
    assert_eq!(
        role(3),
        "This run already has a role \"dev\" with a different prompt, different tools and a different model."
    );
    assert_eq!(
        role(1),
        "This run already has a role \"dev\" with a different prompt."
    );
}

#[test]
fn problems_of_a_list_are_joined_in_the_language() {
    let list = |style, lang| {
        let problems = ["sandbox-no-landlock", "sandbox-no-filter"].map(Reason::new);
        let reason =
            Reason::new("sandbox-too-weak").with_arg("reason", ListArg::new(style, problems));
        render_reason(&reason, Surface::Tool, lang).message
    };
    let english = list(ListStyle::Semicolons, UiLanguage::En);
    assert!(
        english.ends_with(
            ": the kernel has no Landlock; no seccomp filter for this processor architecture."
        ),
        "{english}"
    );
    let chinese = list(ListStyle::Semicolons, UiLanguage::Zh);
    assert!(
        chinese.ends_with("：内核没有 Landlock；没有适用于此处理器架构的 seccomp 过滤器。"),
        "{chinese}"
    );
    let lines = list(ListStyle::Lines, UiLanguage::Zh);
    assert!(lines.contains("内核没有 Landlock\n没有"), "{lines}");
}

#[test]
fn unknown_message_is_shown_as_data() {
    let reason = Reason::new("of-a-newer-version").with_arg("task", ReasonArg::Number(3));
    let text = render_reason(&reason, Surface::Http, UiLanguage::Zh);
    assert_eq!(text.message, "of-a-newer-version (task: 3)");
    assert_eq!(text.hint, "");
}

#[test]
fn sentence_at_the_end_of_a_sentence_has_one_full_stop() {
    let unknown = Reason::new("tool-unknown-name").with_arg("name", "x");
    let line = Reason::new("project-config-line")
        .with_arg("config_file", "polis.toml")
        .with_arg("line", 1_u64)
        .with_arg("reason", unknown);
    let text = render_reason(&line, Surface::Cli, UiLanguage::Zh).message;
    assert_eq!(text, "polis.toml 第 1 行：没有工具 x。");
}

#[test]
fn person_is_told_who_may_delete_a_completed_task_without_a_list() {
    let refusal = TaskStatus::Completed
        .check_transition(TaskStatus::Deleted, false)
        .unwrap_err();
    assert_eq!(
        message(refusal, Surface::Cli, UiLanguage::En),
        "Only the team lead may delete a completed task."
    );
}

#[test]
fn hint_for_completed_task_does_not_advise_to_claim_it() {
    let hint_for = |status: &str| {
        let held = TaskRefusal::HeldBy {
            task: "3".parse().unwrap(),
            status: status.to_owned(),
            owner: "ada".to_owned(),
            agent: "bob".parse().unwrap(),
        };
        hint(held, Surface::Cli, UiLanguage::En)
    };
    assert_eq!(hint_for("completed"), "create a new task for further work");
    assert!(hint_for("in_progress").starts_with("claim it first"));
}
