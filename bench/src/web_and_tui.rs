//! Web pages and terminal UI: transfer size of the first page, server time of each page, latency until a
//! change is visible in a browser, opening a 10 MB board, and CPU time of an idle terminal UI.

mod browser;
mod terminal_ui;

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::bench_env::{BenchEnv, BenchResult, median, run_timed};
use crate::http_client::{HttpConnection, PolisServer, issue_token};
use crate::report::BenchReport;

/// Number of tasks in the measured project.
const TASK_COUNT: u64 = 10_000;
/// Number of small boards in the measured project.
const BOARD_COUNT: usize = 200;
/// Maximum transfer size of the first page with all its assets, in bytes.
const MAX_FIRST_PAGE_BYTES: usize = 100_000;
/// Maximum server time of a page in milliseconds.
const MAX_SERVER_MS: f64 = 50.0;

/// Measures pages over HTTP, pages in a browser, and the terminal UI.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let board = create_large_project(env)?;
    let server = PolisServer::start(env, &board)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure_pages(env, &board, &server, report))?;
    browser::measure(env, &board, &server, report)?;
    drop(server);
    terminal_ui::measure(env, &board, report)
}

/// Creates a project with many tasks and many boards, one of them of 10 MB. Returns its directory.
fn create_large_project(env: &BenchEnv) -> BenchResult<PathBuf> {
    let board = env.create_project("web")?;
    let files = env.write_task_files("web-tasks", TASK_COUNT)?;
    run_timed(env.polis_command(&board, &["task", "import", &files.display().to_string()]))?;
    for n in 0..BOARD_COUNT {
        let name = format!("worker-{n}");
        run_timed(env.polis_command(
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
        run_timed(env.polis_command(&board, &["board", "append", &name, "--content", &text]))?;
    }
    let large = env.path_of("large.md");
    std::fs::write(&large, generate_large_board())?;
    let large = large.display().to_string();
    run_timed(env.polis_command(
        &board,
        &["board", "write", "top", "--content-file", &large, "--force"],
    ))?;
    Ok(board)
}

/// Returns a board text of about 10 MB: sections with lists, tables and code.
fn generate_large_board() -> String {
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

async fn measure_pages(
    env: &BenchEnv,
    board: &Path,
    server: &PolisServer,
    report: &mut BenchReport,
) -> BenchResult<()> {
    let mut connection = HttpConnection::connect(&server.address).await?;
    let cookie = sign_in(env, board, &mut connection).await?;
    let (first, raw) = first_page_bytes(&mut connection, &cookie).await?;
    report.add_figure(
        "first page with all assets, as sent",
        format!("{:.0} KB", kilobytes(first)),
        "< 100 KB".to_owned(),
        first < MAX_FIRST_PAGE_BYTES,
        &format!(
            "{:.0} KB before compression; {TASK_COUNT} tasks, {BOARD_COUNT} boards",
            kilobytes(raw)
        ),
    );
    let floor = median_page_seconds(env, &mut connection, &cookie, "/healthz").await?;
    for (name, path) in [
        ("first page (Overview)", "/"),
        ("tasks", "/tasks"),
        ("a task", "/tasks/5000"),
        ("boards", "/boards"),
        ("agents", "/agents"),
        ("workspaces", "/workspaces"),
        ("events", "/events"),
    ] {
        let elapsed = median_page_seconds(env, &mut connection, &cookie, path).await?;
        report.add_figure(
            &format!("server time: {name}"),
            format!("{:.1} ms", elapsed * 1e3),
            format!("< {MAX_SERVER_MS} ms"),
            elapsed * 1e3 < MAX_SERVER_MS,
            &format!(
                "median, request to complete response over loopback; {:.0}x a request that does nothing",
                elapsed / floor
            ),
        );
    }
    Ok(())
}

/// Returns the median time of a page in seconds.
async fn median_page_seconds(
    env: &BenchEnv,
    connection: &mut HttpConnection,
    cookie: &str,
    path: &str,
) -> BenchResult<f64> {
    let request = get_compressed_request(path, cookie);
    let mut times = Vec::new();
    for _ in 0..env.repetitions(200) {
        let started = Instant::now();
        let answer = connection.send_request(request.as_bytes()).await?;
        times.push(started.elapsed().as_secs_f64());
        if !answer.head.starts_with("http/1.1 2") {
            return Err(format!("{path}: {}", answer.head).into());
        }
    }
    Ok(median(&mut times))
}

/// Signs in with a token. Returns the session cookie.
async fn sign_in(
    env: &BenchEnv,
    board: &Path,
    connection: &mut HttpConnection,
) -> BenchResult<String> {
    let body = format!("token={}", issue_token(env, board, "user")?);
    let request = format!(
        "POST /signin HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = connection.send_request(request.as_bytes()).await?;
    let cookie = answer
        .head
        .lines()
        .find_map(|row| row.strip_prefix("set-cookie:"));
    let cookie = cookie.and_then(|cookie| cookie.split(';').next());
    Ok(cookie.ok_or("no session")?.trim().to_owned())
}

/// Returns the size in bytes of the first page with all assets it references: as sent, and before
/// compression.
async fn first_page_bytes(
    connection: &mut HttpConnection,
    cookie: &str,
) -> BenchResult<(usize, usize)> {
    let page = connection
        .send_request(get_compressed_request("/", cookie).as_bytes())
        .await?;
    let plain = connection
        .send_request(get_uncompressed_request("/", cookie).as_bytes())
        .await?;
    let (mut sent, mut raw) = (page.body.len(), plain.body.len());
    let text = String::from_utf8_lossy(&plain.body).into_owned();
    for quoted in text
        .split('"')
        .filter(|quoted| quoted.starts_with("/assets/"))
    {
        sent += connection
            .send_request(get_compressed_request(quoted, cookie).as_bytes())
            .await?
            .body
            .len();
        raw += connection
            .send_request(get_uncompressed_request(quoted, cookie).as_bytes())
            .await?
            .body
            .len();
    }
    Ok((sent, raw))
}

fn get_compressed_request(path: &str, cookie: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip\r\ncookie: {cookie}\r\n\r\n"
    )
}

fn get_uncompressed_request(path: &str, cookie: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\n\r\n")
}

#[expect(clippy::cast_precision_loss, reason = "a page is not that large")]
fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1e3
}
