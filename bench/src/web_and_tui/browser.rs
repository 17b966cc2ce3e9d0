//! Pages in a real browser: latency until a change made elsewhere is in the document, and the longest time a
//! page is busy while a 10 MB board opens.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use polis_testkit::test_browser::{self, BrowserOptions, TestBrowser};
use serde_json::Value;

use crate::bench_env::{BenchEnv, BenchResult, median, quantile};
use crate::http_client::{HttpConnection, PolisServer, issue_token, json_request};
use crate::report::BenchReport;

/// Maximum latency until a change is visible, in milliseconds.
const MAX_VISIBLE_MS: f64 = 200.0;
/// Maximum time for which a page may not respond to a key, in milliseconds; beyond it a page feels frozen.
const MAX_UNRESPONSIVE_MS: f64 = 200.0;

pub(super) fn measure(
    env: &BenchEnv,
    board: &Path,
    server: &PolisServer,
    report: &mut BenchReport,
) -> BenchResult<()> {
    let home = format!("http://{}", server.address);
    let key = issue_token(env, board, "user")?;
    let (mut latencies, large) =
        test_browser::with_browser(&home, BrowserOptions::default(), async |browser| {
            browser.sign_in(&server.sign_in_url).await;
            let latencies = change_latencies(env, browser, &server.address, &key).await;
            let large = open_large_board(browser).await;
            (latencies.map_err(|e| e.to_string()), large)
        });
    let latencies = latencies.as_mut().map_err(|error| error.clone())?;
    let (slow, middle) = (quantile(latencies, 0.95), median(latencies));
    report.add_figure(
        "a task created elsewhere becomes visible in a browser",
        format!("{middle:.0} ms"),
        format!("< {MAX_VISIBLE_MS} ms"),
        slow < MAX_VISIBLE_MS,
        &format!(
            "median of {}, from before the request is sent to the change of the document; 95 of 100 within {slow:.0} ms",
            latencies.len()
        ),
    );
    report.add_figure(
        "10 MB board: longest time the page is unresponsive",
        format!("{:.0} ms", large.busy_ms),
        format!("< {MAX_UNRESPONSIVE_MS} ms"),
        large.busy_ms < MAX_UNRESPONSIVE_MS,
        &format!(
            "first part shown after {:.0} ms, read while scrolling to the end; the document is {:.0} KB at first",
            large.shown_ms,
            large.bytes / 1e3
        ),
    );
    Ok(())
}

/// Returns, for each change, the milliseconds from sending it until it was in the document.
async fn change_latencies(
    env: &BenchEnv,
    browser: &TestBrowser,
    address: &str,
    key: &str,
) -> BenchResult<Vec<f64>> {
    browser.open_page("/tasks").await;
    browser.wait_for_element("[data-live-is=open]").await;
    browser
        .run_script("window.seen = {};
             new MutationObserver(() => {
               for (const [, mark] of document.body.textContent.matchAll(/mark-(\\d+)-/g)) seen[mark] ??= Date.now();
             }).observe(document.body, {subtree: true, childList: true, characterData: true});")
        .await;
    let mut connection = HttpConnection::connect(address).await?;
    let mut times = Vec::new();
    for n in 0..env.repetitions(50) {
        let body = format!("{{\"subject\":\"mark-{n}-\"}}");
        let sent = epoch_millis();
        connection
            .send_expecting_success(json_request("POST /v1/tasks", key, &body).as_bytes())
            .await?;
        let started = Instant::now();
        let visible_at = loop {
            if let Some(at) = browser
                .run_script(&format!("return seen[{n}] ?? null"))
                .await
                .as_f64()
            {
                break at;
            }
            if started.elapsed() > Duration::from_secs(5) {
                return Err(format!("timed out waiting for change {n}").into());
            }
        };
        times.push(visible_at - sent);
    }
    Ok(times)
}

/// Measurements of opening a large board: milliseconds and bytes.
struct LargeBoardTimings {
    shown_ms: f64,
    busy_ms: f64,
    bytes: f64,
}

/// Opens the large board and scrolls down repeatedly.
async fn open_large_board(browser: &TestBrowser) -> LargeBoardTimings {
    browser.open_page("/boards/top").await;
    browser.wait_for_element("article.board :is(h2, h3)").await;
    browser
        .run_script(
            "window.busy = 0;
             new PerformanceObserver(list => {
               for (const task of list.getEntries()) busy = Math.max(busy, task.duration);
             }).observe({type: 'longtask', buffered: true});",
        )
        .await;
    for _ in 0..20 {
        browser.run_script("window.scrollBy(0, 4000)").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let timings = browser
        .run_script(
            "const page = performance.getEntriesByType('navigation')[0];
             return {shown: page.domContentLoadedEventEnd, busy, bytes: page.decodedBodySize}",
        )
        .await;
    let number = |name: &str| {
        timings
            .get(name)
            .and_then(Value::as_f64)
            .unwrap_or(f64::NAN)
    };
    LargeBoardTimings {
        shown_ms: number("shown"),
        busy_ms: number("busy"),
        bytes: number("bytes"),
    }
}

/// Returns the time in milliseconds since the epoch. It is comparable with the browser's clock, because the
/// browser runs on this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "it is compared with the browser's clock"
)]
fn epoch_millis() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64() * 1e3
}
