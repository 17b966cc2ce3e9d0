//! Web pages and terminal UI: transfer size of the first page, server time of each page, latency until a change is
//! visible in a browser, opening a 10 MB board, and CPU time of an idle terminal UI.

mod browser;
mod terminal;

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::report::Report;
use crate::scene::{Fallible, Scene, median, run};
use crate::wire::{Line, Server, token};

/// Number of tasks.
const TASKS: u64 = 10_000;
/// Number of boards.
const BOARDS: usize = 200;
/// Maximum transfer size of the first page with all its assets, in bytes.
const FIRST_PAGE: usize = 100_000;
/// Maximum server time of a page in milliseconds.
const SERVER_MS: f64 = 50.0;

/// Measures pages over HTTP, pages in a browser, and the terminal UI.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let board = town(scene)?;
    let server = Server::start(scene, &board)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(pages(scene, &board, &server, report))?;
    browser::measure(scene, &board, &server, report)?;
    drop(server);
    terminal::measure(scene, &board, report)
}

/// Creates a project with many tasks and many boards, one of them of 10 MB. Returns its directory.
fn town(scene: &Scene) -> Fallible<PathBuf> {
    let board = scene.board("web")?;
    let files = scene.task_files("web-tasks", TASKS)?;
    run(scene.polis(&board, &["task", "import", &files.display().to_string()]))?;
    for n in 0..BOARDS {
        let name = format!("worker-{n}");
        run(scene.polis(
            &board,
            &[
                "agent",
                "add",
                &name,
                "--role",
                "backend-leader",
                "--layer",
                "bottom",
            ],
        ))?;
        let text = format!("## 状态 Status\n\nWorker {n} is at step {n}.\n\n- [ ] next\n");
        let name = format!("bottom/{name}");
        run(scene.polis(&board, &["board", "append", &name, "--content", &text]))?;
    }
    let large = scene.place("large.md");
    std::fs::write(&large, large_board())?;
    let large = large.display().to_string();
    run(scene.polis(
        &board,
        &["board", "write", "top", "--content-file", &large, "--force"],
    ))?;
    Ok(board)
}

/// Returns a board text of about 10 MB: sections with lists, tables and code.
fn large_board() -> String {
    let mut text = String::with_capacity(10 << 20);
    let mut n = 0;
    while text.len() < 10_000_000 {
        n += 1;
        text.push_str(&format!(
            "## Section {n} 第{n}节\n\nWhat was found in step {n}, with `code`, **weight** and a [link](#section-1).\n\n\
             - one\n- two\n  - deeper\n\n| a | b |\n| --- | --- |\n| {n} | 值 |\n\n```rust\nfn step_{n}() -> u32 {{ {n} }}\n```\n\n"
        ));
    }
    text
}

async fn pages(scene: &Scene, board: &Path, server: &Server, report: &mut Report) -> Fallible<()> {
    let mut line = Line::connect(&server.address).await?;
    let cookie = session(scene, board, &mut line).await?;
    let (first, raw) = weigh(&mut line, &cookie).await?;
    report.add(
        "first page with everything it needs, as sent",
        format!("{:.0} KB", kb(first)),
        "< 100 KB".to_owned(),
        first < FIRST_PAGE,
        &format!(
            "{:.0} KB before compression; {TASKS} tasks, {BOARDS} boards",
            kb(raw)
        ),
    );
    let floor = time(scene, &mut line, &cookie, "/healthz").await?;
    for (name, path) in [
        ("first page (Now)", "/"),
        ("tasks", "/tasks"),
        ("a task", "/tasks/5000"),
        ("boards", "/boards"),
        ("agents", "/agents"),
        ("workspaces", "/workspaces"),
        ("events", "/events"),
    ] {
        let took = time(scene, &mut line, &cookie, path).await?;
        report.add(
            &format!("server time: {name}"),
            format!("{:.1} ms", took * 1e3),
            format!("< {SERVER_MS} ms"),
            took * 1e3 < SERVER_MS,
            &format!(
                "median, request to whole answer over loopback; {:.0}x a request that does nothing",
                took / floor
            ),
        );
    }
    Ok(())
}

/// Returns the median time of a page in seconds.
async fn time(scene: &Scene, line: &mut Line, cookie: &str, path: &str) -> Fallible<f64> {
    let request = get(path, cookie);
    let mut times = Vec::new();
    for _ in 0..scene.times(200) {
        let begun = Instant::now();
        let answer = line.fetch(request.as_bytes()).await?;
        times.push(begun.elapsed().as_secs_f64());
        if !answer.head.starts_with("http/1.1 2") {
            return Err(format!("{path}: {}", answer.head).into());
        }
    }
    Ok(median(&mut times))
}

/// Signs in with a token. Returns the session cookie.
async fn session(scene: &Scene, board: &Path, line: &mut Line) -> Fallible<String> {
    let body = format!("token={}", token(scene, board, "user")?);
    let request = format!(
        "POST /signin HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = line.fetch(request.as_bytes()).await?;
    let cookie = answer
        .head
        .lines()
        .find_map(|row| row.strip_prefix("set-cookie:"));
    let cookie = cookie.and_then(|cookie| cookie.split(';').next());
    Ok(cookie.ok_or("no session")?.trim().to_owned())
}

/// Returns the size in bytes of the first page with all assets it references: as sent, and before compression.
async fn weigh(line: &mut Line, cookie: &str) -> Fallible<(usize, usize)> {
    let page = line.fetch(get("/", cookie).as_bytes()).await?;
    let plain = line.fetch(plain("/", cookie).as_bytes()).await?;
    let (mut sent, mut raw) = (page.body.len(), plain.body.len());
    let text = String::from_utf8_lossy(&plain.body).into_owned();
    for quoted in text
        .split('"')
        .filter(|quoted| quoted.starts_with("/assets/"))
    {
        sent += line.fetch(get(quoted, cookie).as_bytes()).await?.body.len();
        raw += line
            .fetch(self::plain(quoted, cookie).as_bytes())
            .await?
            .body
            .len();
    }
    Ok((sent, raw))
}

fn get(path: &str, cookie: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip\r\ncookie: {cookie}\r\n\r\n"
    )
}

fn plain(path: &str, cookie: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\n\r\n")
}

#[expect(clippy::cast_precision_loss, reason = "a page is not that large")]
fn kb(bytes: usize) -> f64 {
    bytes as f64 / 1e3
}
