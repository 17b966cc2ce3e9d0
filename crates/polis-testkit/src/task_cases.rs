//! Test cases TC-01 to TC-21 of requirement 004 (docs/requirements.md), run through the operations over any
//! store.

use polis_core::task::create::TaskCreateParams;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{RefusalCode, TaskId, TaskStatus, TaskType};
use polis_i18n::{Surface, UiLanguage};
use polis_ops::op::{self, TaskListParams, TaskView};
use polis_ops::{App, OpError};

use crate::StoreFactory;
use crate::store_factory::{new_test_app, parse_agent_id};

const BACKEND_LEADER: &str = "backend-leader";
const FRONTEND_LEADER: &str = "frontend-leader";
const TEAM_LEAD: &str = "team-lead";

async fn open_app(factory: &dyn StoreFactory) -> App {
    new_test_app(factory.open().await.unwrap())
}

async fn create_task(app: &App, role: Option<&str>) -> TaskView {
    let request = TaskCreateParams {
        subject: "[任务] REQ-002".to_owned(),
        required_role: role.map(str::to_owned),
        ..TaskCreateParams::default()
    };
    op::create_task(&app.request(&parse_agent_id(TEAM_LEAD)), &request)
        .await
        .unwrap()
}

async fn update_owner_or_status(
    app: &App,
    caller: &str,
    id: TaskId,
    fill: impl FnOnce(&mut TaskUpdateParams),
) -> Result<TaskView, OpError> {
    let mut request = TaskUpdateParams::new(id);
    fill(&mut request);
    op::update_task(&app.request(&parse_agent_id(caller)), &request).await
}

/// Creates a task and updates it until it is in progress at this version (at least 2).
async fn create_in_progress_at_version(app: &App, version: u64) -> TaskId {
    let id = create_task(app, None).await.task.id;
    for n in 2..version {
        update_owner_or_status(app, BACKEND_LEADER, id, |u| {
            u.subject = Some(format!("第 {n} 版"));
        })
        .await
        .unwrap();
    }
    let updated = update_owner_or_status(app, BACKEND_LEADER, id, |u| {
        u.status = Some(TaskStatus::InProgress);
    })
    .await
    .unwrap();
    assert_eq!(updated.task.version, version);
    id
}

/// Asserts that a request was refused with the specified message and left the task unchanged.
async fn assert_refused(
    app: &App,
    before: &TaskView,
    answer: Result<TaskView, OpError>,
    code: RefusalCode,
    message: &str,
) {
    let error = answer.unwrap_err();
    assert_eq!(error.code(), code);
    let text = error.render(Surface::Tool, UiLanguage::En).message;
    assert!(text.starts_with(message), "{text}");
    let after = op::get_task(&app.person_request(), before.task.id)
        .await
        .unwrap();
    assert_eq!(after, *before);
}

async fn list_task_numbers(app: &App, role: Option<&str>) -> Vec<u64> {
    let request = TaskListParams {
        role_filter: role.map(str::to_owned),
        ..TaskListParams::default()
    };
    let page = op::list_tasks(&app.person_request(), &request)
        .await
        .unwrap();
    page.tasks.iter().map(|task| task.id.number()).collect()
}

/// TC-01: a task with a required role starts at version 1.
pub async fn tc_01_create_with_required_role(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let created = create_task(&app, Some(BACKEND_LEADER)).await;
    assert_eq!(created.task.version, 1);
    assert_eq!(created.task.required_role.as_deref(), Some(BACKEND_LEADER));
    assert_eq!(created.task.status, TaskStatus::Pending);
    assert_eq!(created.task.owner, "");
    assert_eq!(
        op::get_task(&app.person_request(), created.task.id)
            .await
            .unwrap(),
        created
    );
}

/// TC-02: an unknown role is refused.
pub async fn tc_02_create_with_invalid_required_role_is_refused(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let request = TaskCreateParams {
        subject: "x".to_owned(),
        required_role: Some("invalid-role".to_owned()),
        ..TaskCreateParams::default()
    };
    let error = op::create_task(&app.request(&parse_agent_id(TEAM_LEAD)), &request)
        .await
        .unwrap_err();
    assert_eq!(error.code(), RefusalCode::INVALID_REQUIRED_ROLE);
    let text = error.render(Surface::Tool, UiLanguage::En).message;
    assert!(text.starts_with("Invalid requiredRole"), "{text}");
    assert_eq!(list_task_numbers(&app, None).await, [0_u64; 0]);
}

/// TC-03: the required role is optional.
pub async fn tc_03_create_without_required_role(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let created = create_task(&app, None).await;
    assert_eq!(created.task.version, 1);
    assert_eq!(created.task.required_role, None);
}

/// TC-04: a task may have a type.
pub async fn tc_04_create_with_task_type(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let request = TaskCreateParams {
        subject: "x".to_owned(),
        task_type: Some("backend_implementation".to_owned()),
        ..TaskCreateParams::default()
    };
    let created = op::create_task(&app.request(&parse_agent_id(TEAM_LEAD)), &request)
        .await
        .unwrap();
    let found = op::get_task(&app.person_request(), created.task.id)
        .await
        .unwrap();
    assert_eq!(found.task.task_type, Some(TaskType::BackendImplementation));
}

/// TC-05: without a filter every task is listed.
pub async fn tc_05_list_without_role_filter(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    for role in [Some(BACKEND_LEADER), Some(FRONTEND_LEADER), None] {
        create_task(&app, role).await;
    }
    assert_eq!(list_task_numbers(&app, None).await, [1, 2, 3]);
}

/// TC-06: the role filter lists tasks of that role and tasks without a role.
pub async fn tc_06_list_with_role_filter(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    for role in [Some(BACKEND_LEADER), Some(FRONTEND_LEADER), None] {
        create_task(&app, role).await;
    }
    assert_eq!(list_task_numbers(&app, Some(BACKEND_LEADER)).await, [1, 3]);
}

/// TC-07: the role filter lists tasks owned by the role, regardless of their required role.
pub async fn tc_07_role_filter_matches_owner(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let id = create_task(&app, Some(FRONTEND_LEADER)).await.task.id;
    assert_eq!(
        list_task_numbers(&app, Some(BACKEND_LEADER)).await,
        [0_u64; 0]
    );
    let forced = update_owner_or_status(&app, TEAM_LEAD, id, |u| {
        u.owner = Some(BACKEND_LEADER.to_owned());
        u.force_assign = true;
    });
    forced.await.unwrap();
    assert_eq!(list_task_numbers(&app, Some(BACKEND_LEADER)).await, [1]);
}

/// TC-08: an update with the current version succeeds and increments the version.
pub async fn tc_08_update_with_matching_version(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let id = create_in_progress_at_version(&app, 3).await;
    let done = update_owner_or_status(&app, BACKEND_LEADER, id, |u| {
        u.status = Some(TaskStatus::Completed);
        u.expected_version = Some(3);
    });
    assert_eq!(done.await.unwrap().task.version, 4);
}

/// TC-09: an update with another version changes nothing.
pub async fn tc_09_update_with_other_version_is_refused(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let id = create_in_progress_at_version(&app, 5).await;
    let before = op::get_task(&app.person_request(), id).await.unwrap();
    let answer = update_owner_or_status(&app, BACKEND_LEADER, id, |u| {
        u.status = Some(TaskStatus::Completed);
        u.expected_version = Some(3);
    })
    .await;
    let message = "Task version mismatch. Expected: 3, Current: 5.\n\
                 Another agent has modified this task. Please refresh and retry.";
    assert_refused(
        &app,
        &before,
        answer,
        RefusalCode::VERSION_MISMATCH,
        message,
    )
    .await;
}

/// TC-10: without an expected version no version is checked.
pub async fn tc_10_update_without_expected_version(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let id = create_in_progress_at_version(&app, 3).await;
    let done = update_owner_or_status(&app, BACKEND_LEADER, id, |u| {
        u.status = Some(TaskStatus::Completed);
    });
    assert_eq!(done.await.unwrap().task.version, 4);
}

/// TC-11: an agent with the required role becomes the owner.
pub async fn tc_11_assign_to_agent_with_required_role(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let id = create_task(&app, Some(BACKEND_LEADER)).await.task.id;
    let updated = update_owner_or_status(&app, BACKEND_LEADER, id, |u| {
        u.owner = Some(BACKEND_LEADER.to_owned());
    });
    assert_eq!(updated.await.unwrap().task.owner, BACKEND_LEADER);
}

/// TC-12: an agent with another role is refused.
pub async fn tc_12_assign_to_agent_with_other_role_is_refused(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let before = create_task(&app, Some(BACKEND_LEADER)).await;
    let id = before.task.id;
    let answer = update_owner_or_status(&app, FRONTEND_LEADER, id, |u| {
        u.owner = Some(FRONTEND_LEADER.to_owned());
    })
    .await;
    let message = "Role mismatch. Task requires \"backend-leader\", but you are \"frontend-leader\".\n\
                 Use TaskList({ roleFilter: \"frontend-leader\" }) to find tasks for your role.";
    assert_refused(&app, &before, answer, RefusalCode::ROLE_MISMATCH, message).await;
}

/// TC-13: the team lead can force an assignment across roles.
pub async fn tc_13_force_assign_by_team_lead(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let id = create_task(&app, Some(BACKEND_LEADER)).await.task.id;
    let forced = update_owner_or_status(&app, TEAM_LEAD, id, |u| {
        u.owner = Some("architect".to_owned());
        u.force_assign = true;
    });
    let task = forced.await.unwrap().task;
    assert_eq!(task.owner, "architect");
    assert_eq!(task.required_role.as_deref(), Some(BACKEND_LEADER));
}

/// TC-14: other agents cannot force an assignment.
pub async fn tc_14_force_assign_by_other_agent_is_refused(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let before = create_task(&app, Some(BACKEND_LEADER)).await;
    let answer = update_owner_or_status(&app, FRONTEND_LEADER, before.task.id, |u| {
        u.owner = Some(FRONTEND_LEADER.to_owned());
        u.force_assign = true;
    })
    .await;
    let message = "Only team-lead can use forceAssign";
    assert_refused(
        &app,
        &before,
        answer,
        RefusalCode::FORCE_ASSIGN_FORBIDDEN,
        message,
    )
    .await;
}

/// TC-15: any agent may own a task without a required role.
pub async fn tc_15_assign_task_without_required_role_to_any_agent(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    for name in [TEAM_LEAD, BACKEND_LEADER, "test-leader-3", "任何角色"] {
        let id = create_task(&app, None).await.task.id;
        let updated = update_owner_or_status(&app, name, id, |u| u.owner = Some(name.to_owned()));
        assert_eq!(updated.await.unwrap().task.owner, name);
    }
}

/// TC-16: a pending task can be started.
pub async fn tc_16_pending_to_in_progress(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let id = create_task(&app, None).await.task.id;
    let updated = update_owner_or_status(&app, BACKEND_LEADER, id, |u| {
        u.status = Some(TaskStatus::InProgress);
    });
    assert_eq!(updated.await.unwrap().task.status, TaskStatus::InProgress);
}

/// TC-17: a task in progress can be completed.
pub async fn tc_17_in_progress_to_completed(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let id = create_in_progress_at_version(&app, 2).await;
    let done = update_owner_or_status(&app, BACKEND_LEADER, id, |u| {
        u.status = Some(TaskStatus::Completed);
    });
    assert_eq!(done.await.unwrap().task.status, TaskStatus::Completed);
}

/// TC-18: a completed task cannot be restarted.
pub async fn tc_18_completed_to_in_progress_is_refused(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let id = create_in_progress_at_version(&app, 2).await;
    let done = update_owner_or_status(&app, BACKEND_LEADER, id, |u| {
        u.status = Some(TaskStatus::Completed);
    });
    done.await.unwrap();
    let before = op::get_task(&app.person_request(), id).await.unwrap();
    let answer = update_owner_or_status(&app, BACKEND_LEADER, id, |u| {
        u.status = Some(TaskStatus::InProgress);
    })
    .await;
    let message = "Invalid status transition: \"completed\" -> \"in_progress\".\n\
                 Allowed transitions from \"completed\": [\"deleted\"] (team-lead only).";
    assert_refused(
        &app,
        &before,
        answer,
        RefusalCode::INVALID_TRANSITION,
        message,
    )
    .await;
}

/// TC-19: a task in progress cannot become pending again.
pub async fn tc_19_in_progress_to_pending_is_refused(factory: &dyn StoreFactory) {
    let app = open_app(factory).await;
    let id = create_in_progress_at_version(&app, 2).await;
    let before = op::get_task(&app.person_request(), id).await.unwrap();
    let answer = update_owner_or_status(&app, BACKEND_LEADER, id, |u| {
        u.status = Some(TaskStatus::Pending);
    })
    .await;
    let message = "Invalid status transition: \"in_progress\" -> \"pending\".";
    assert_refused(
        &app,
        &before,
        answer,
        RefusalCode::INVALID_TRANSITION,
        message,
    )
    .await;
}

/// TC-20: if two agents take one task at the same version through separate handles, exactly one gets it.
pub async fn tc_20_concurrent_assignment_at_one_version_one_succeeds(factory: &dyn StoreFactory) {
    let (one, two) = (open_app(factory).await, open_app(factory).await);
    for _ in 0..10 {
        let id = create_task(&one, Some(BACKEND_LEADER)).await.task.id;
        let take = |app: &App, name: &'static str| {
            let app = app.clone();
            tokio::spawn(async move {
                update_owner_or_status(&app, name, id, |u| {
                    u.owner = Some(name.to_owned());
                    u.expected_version = Some(1);
                })
                .await
            })
        };
        let rivals = [take(&one, "backend-leader"), take(&two, "backend-leader-2")];
        let mut owners = Vec::new();
        let mut refusals = Vec::new();
        for rival in rivals {
            match rival.await.unwrap() {
                Ok(updated) => owners.push(updated.task.owner),
                Err(error) => refusals.push(error.code()),
            }
        }
        assert_eq!(refusals, [RefusalCode::VERSION_MISMATCH]);
        let after = op::get_task(&one.person_request(), id).await.unwrap();
        assert_eq!(owners, [after.task.owner]);
        assert_eq!(after.task.version, 2);
    }
}

/// TC-21: an update based on data read before another agent's update is refused.
pub async fn tc_21_update_with_stale_version_is_refused(factory: &dyn StoreFactory) {
    let (a, b) = (open_app(factory).await, open_app(factory).await);
    let id = create_task(&a, None).await.task.id;
    let read = op::get_task(&a.person_request(), id).await.unwrap();
    assert_eq!(read.task.version, 1);
    let updated = update_owner_or_status(&b, FRONTEND_LEADER, id, |u| {
        u.status = Some(TaskStatus::InProgress);
    });
    assert_eq!(updated.await.unwrap().task.version, 2);
    let before = op::get_task(&a.person_request(), id).await.unwrap();
    let answer = update_owner_or_status(&a, BACKEND_LEADER, id, |u| {
        u.owner = Some(BACKEND_LEADER.to_owned());
        u.expected_version = Some(1);
    })
    .await;
    let message = "Task version mismatch. Expected: 1, Current: 2.";
    assert_refused(&a, &before, answer, RefusalCode::VERSION_MISMATCH, message).await;
}
