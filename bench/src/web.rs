//! The pages and the terminal screen: how large the first page is and how long the server takes for each, when a
//! change is on the screen, how a board of 10 MB opens, and what a screen costs on which nothing happens.

mod browser;
mod terminal;

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::report::Report;
use crate::scene::{Fallible, Scene, median, run};
use crate::wire::{Line, Server, token};

/// How many tasks the large board has.
const TASKS: u64 = 10_000;
/// How many boards there are.
const BOARDS: usize = 200;
/// What the first page and everything it needs may weigh.
const FIRST_PAGE: usize = 100_000;
/// What the server may take for it, in milliseconds.
const SERVER_MS: f64 = 50.0;

/// Measures pages over the wire, pages in a browser, and the terminal screen.
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

/// A board with many tasks and many boards, one of them of 10 MB.
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

/// A board of nearly 10 MB: sections with lists, tables and code.
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

/// The median time of a page, in seconds.
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

/// Signs in with a token; the cookie.
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

/// The bytes of the first page and of everything it names: as sent, and before compression.
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
