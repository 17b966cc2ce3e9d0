//! Version history of a board: list, side-by-side diff of any two versions, and restore with confirmation.

use std::sync::Arc;

use axum::response::Response;
use maud::{Markup, html};
use polis_core::Code;
use polis_core::board::VersionEntry;
use polis_ops::OpError;
use polis_ops::op::{self, BoardHistory, VersionShow};
use polis_view::{labels, number_format};

use super::board_url::{self, Wish};
use super::{Asked, Call, about, lacks};
use crate::error_page::{OrRefuse as _, Refused, notice};
use crate::layout::{Tab, page};
use crate::side_by_side;

/// Maximum number of versions listed.
const MOST: u32 = 200;

pub(super) async fn show(call: &Call, asked: &Asked) -> Result<Response, Refused> {
    let Call { visit, board, .. } = call;
    let request = BoardHistory {
        board: board.clone(),
        limit: Some(MOST),
    };
    let list = op::board_history(&visit.polis, &visit.me, &request).await;
    let versions = list.or_refuse(visit)?.versions;
    let (writes, _) = call.rights().await?;
    let kept = usize::try_from(visit.polis.settings.boards.max_versions).unwrap_or(usize::MAX);
    let newest = versions.first().map_or(0, |one| one.version);
    let to = asked.to.unwrap_or(newest);
    let from = asked.from.unwrap_or(to.saturating_sub(1));
    let compared = if versions.is_empty() || to == from {
        html! {}
    } else {
        compare(call, from.min(to), from.max(to), asked.from.is_some()).await?
    };
    let body = html! {
        p { a href=(board_url::of(board)) { "← " (board) } }
        @if versions.is_empty() {
            div.empty {
                h2 { (visit.say("No versions yet", "还没有版本")) }
                p { (visit.say("Every change of a board is kept here, and can be brought back.", "白板的每次修改都保存在这里，可以随时恢复。")) }
            }
        } @else {
            div.history {
                (compared)
                form.card method="get" action=(board_url::to(board, Wish::History)) {
                    h2 { (visit.say("Versions", "版本")) span.count { (versions.len()) } }
                    @if versions.len() >= kept {
                        p.muted.small { (visit.say(
                            format!("Only the newest {kept} versions are kept (setting `whiteboards.max_versions`)."),
                            format!("只保留最新的 {kept} 个版本（设置项 `whiteboards.max_versions`）。"),
                        )) }
                    }
                    div.scroll tabindex="0" { table.table {
                        thead { tr {
                            th scope="col" { (visit.say("From", "从")) }
                            th scope="col" { (visit.say("To", "到")) }
                            th.num scope="col" { (visit.say("Version", "版本")) }
                            th scope="col" { (visit.say("Change", "修改")) }
                            th scope="col" { (visit.say("Who and when", "何人何时")) }
                            th.num scope="col" { (visit.say("Size", "大小")) }
                            th scope="col" { span.hide { (visit.say("Restore", "恢复")) } }
                        } }
                        tbody { @for one in &versions { (row(call, one, (from, to), writes && one.version != newest)) } }
                    } }
                    div.actions { button.main { (visit.say("Compare", "比较")) } }
                }
            }
        }
    };
    let title = visit.say(format!("History of {board}"), format!("{board} 的历史"));
    Ok(page(visit, Tab::Boards, &title, "", &body))
}

/// Renders a version, with the radio buttons for the compared versions, and a restore link if `restores` is set.
fn row(call: &Call, one: &VersionEntry, (from, to): (u64, u64), restores: bool) -> Markup {
    let visit = &call.visit;
    let number = one.version;
    let label = |word: &str| format!("{word} {number}");
    let restore = format!(
        "{}?version={number}",
        board_url::to(&call.board, Wish::Restore)
    );
    html! {
        tr data-row data-version=(number) {
            td { input type="radio" name="from" value=(number) checked[number == from] aria-label=(label(visit.say("from version", "从版本"))); }
            td { input type="radio" name="to" value=(number) checked[number == to] aria-label=(label(visit.say("to version", "到版本"))); }
            td.num { a href={ "?to=" (number) } { (number) } }
            td { (labels::version(one.action, visit.lang())) }
            td { (about::made(call, &one.by, &one.at)) }
            td.num.nowrap { (number_format::bytes(one.bytes)) }
            td { @if restores { a.button.small href=(restore) { (visit.say("Restore …", "恢复……")) } } }
        }
    }
}

async fn text_of(call: &Call, version: u64) -> Result<Arc<String>, Refused> {
    kept(call, version).await.or_refuse(&call.visit)
}

async fn kept(call: &Call, version: u64) -> Result<Arc<String>, OpError> {
    let request = VersionShow {
        board: call.board.clone(),
        version,
        offset: None,
        max_bytes: None,
    };
    let found = op::show_version(&call.visit.polis, &call.visit.me, &request).await;
    Ok(found?.content)
}

/// Renders the diff of two versions. The predecessor of the oldest stored version no longer exists; that is an error
/// only if it was requested explicitly.
async fn compare(call: &Call, from: u64, to: u64, asked: bool) -> Result<Markup, Refused> {
    let visit = &call.visit;
    let new = text_of(call, to).await?;
    let old = match kept(call, from).await {
        Err(error) if error.code() == Code::VersionNotFound && !asked => {
            return Ok(html! { p.muted { (visit.say(
                format!("Version {to} is the oldest that is kept: there is none before it to compare it with."),
                format!("版本 {to} 是保留的最早版本，没有更早的版本可供比较。"),
            )) } });
        }
        old => old.or_refuse(visit)?,
    };
    let title = visit.say(
        format!("From version {from} to {to}"),
        format!("从版本 {from} 到 {to}"),
    );
    Ok(
        html! { section.card #difference { h2 { (title) } (difference(call, (from, old), (to, new)).await?) } },
    )
}

/// Renders the side-by-side diff of two versions. Runs on a blocking thread, because long texts take time.
pub(super) async fn difference(
    call: &Call,
    old: (u64, Arc<String>),
    new: (u64, Arc<String>),
) -> Result<Markup, Refused> {
    let name = |version: u64| match version {
        0 => call.visit.say("template", "初始内容").to_owned(),
        n => call.visit.say(format!("version {n}"), format!("版本 {n}")),
    };
    side_by_side(call, (name(old.0), old.1), (name(new.0), new.1)).await
}

/// Renders the side-by-side diff of two named texts.
pub(super) async fn side_by_side(
    call: &Call,
    (was, old): (String, Arc<String>),
    (is, new): (String, Arc<String>),
) -> Result<Markup, Refused> {
    let visit = call.visit.clone();
    let drawn =
        tokio::task::spawn_blocking(move || side_by_side::table(&visit, (&was, &old), (&is, &new)));
    drawn
        .await
        .map_err(|error| super::render_cache::failed(&error))
        .or_refuse(&call.visit)
}

/// Returns the confirmation page for restoring a version, with a diff of the resulting change.
pub(super) async fn ask_restore(call: &Call, asked: &Asked) -> Result<Response, Refused> {
    let version = asked.version.ok_or_else(|| lacks(call, "version"))?;
    question(call, version, None).await
}

/// Renders the confirmation page; `again` is the conflict if the board changed after it was shown.
pub(super) async fn question(
    call: &Call,
    version: u64,
    again: Option<&OpError>,
) -> Result<Response, Refused> {
    let Call { visit, board, .. } = call;
    let head = super::render_cache::head(&visit.polis, &visit.me, board).await;
    let now = head.or_refuse(visit)?.version;
    let (old, new) = (text_of(call, now).await?, text_of(call, version).await?);
    let body = html! {
        @if let Some(error) = again { (notice(visit.taste, error, false)) }
        p { (visit.say(
            "The board becomes what it was in this version. That is a new version: nothing is lost by it.",
            "白板将恢复成这个版本的内容。这会产生一个新版本，不会丢失任何内容。",
        )) }
        form.actions method="post" action=(board_url::to(board, Wish::Restore)) {
            input type="hidden" name="csrf" value=(visit.csrf);
            input type="hidden" name="version" value=(version);
            input type="hidden" name="now" value=(now);
            button.main { (visit.say(format!("Restore version {version}"), format!("恢复版本 {version}"))) }
            a.button.quiet href=(board_url::to(board, Wish::History)) { (visit.say("Back", "返回")) }
        }
        section.card { h2 { (visit.say("What changes", "会有哪些变化")) } (difference(call, (now, old), (version, new)).await?) }
    };
    let title = visit.say(format!("Restore {board}"), format!("恢复 {board}"));
    Ok(page(visit, Tab::Boards, &title, "", &body))
}
