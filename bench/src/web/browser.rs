//! Pages in a real browser: latency until a change made elsewhere is in the document, and the longest time a page is
//! busy while a 10 MB board opens.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use polis_testkit::browser::{self, Browser, Setup};
use serde_json::Value;

use crate::report::Report;
use crate::scene::{Fallible, Scene, at_share, median};
use crate::wire::{Line, Server, request, token};

/// Maximum latency until a change is visible, in milliseconds.
const SEEN_MS: f64 = 200.0;
/// Maximum time for which a page may not respond to a key, in milliseconds; beyond it a page feels frozen.
const FROZEN_MS: f64 = 200.0;

pub(super) fn measure(
    scene: &Scene,
    board: &Path,
    server: &Server,
    report: &mut Report,
) -> Fallible<()> {
    let home = format!("http://{}", server.address);
    let key = token(scene, board, "user")?;
    let (mut seen, large) = browser::with(&home, Setup::default(), async |browser| {
        browser.sign_in(&server.sign_in).await;
        let seen = changes(scene, browser, &server.address, &key).await;
        let large = open_large(browser).await;
        (seen.map_err(|e| e.to_string()), large)
    });
    let seen = seen.as_mut().map_err(|error| error.clone())?;
    let (slow, middle) = (at_share(seen, 0.95), median(seen));
    report.add(
        "a task created elsewhere is on the screen of a browser",
        format!("{middle:.0} ms"),
        format!("< {SEEN_MS} ms"),
        slow < SEEN_MS,
        &format!(
            "median of {}, from before the request is sent to the change of the document; 95 of 100 within {slow:.0} ms",
            seen.len()
        ),
    );
    report.add(
        "a board of 10 MB: the longest time the page is busy",
        format!("{:.0} ms", large.busy),
        format!("< {FROZEN_MS} ms"),
        large.busy < FROZEN_MS,
        &format!(
            "the first part is shown after {:.0} ms, read while scrolling to the end; the document is {:.0} KB at first",
            large.shown,
            large.bytes / 1e3
        ),
    );
    Ok(())
}

/// Returns, for each change, the milliseconds from sending it until it was in the document.
async fn changes(scene: &Scene, browser: &Browser, address: &str, key: &str) -> Fallible<Vec<f64>> {
    browser.open("/tasks").await;
    browser.wait_for("[data-live-is=open]").await;
    browser
        .js("window.seen = {};
             new MutationObserver(() => {
               for (const [, mark] of document.body.textContent.matchAll(/mark-(\\d+)-/g)) seen[mark] ??= Date.now();
             }).observe(document.body, {subtree: true, childList: true, characterData: true});")
        .await;
    let mut line = Line::connect(address).await?;
    let mut times = Vec::new();
    for n in 0..scene.times(50) {
        let body = format!("{{\"subject\":\"mark-{n}-\"}}");
        let sent = now();
        line.exchange(request("POST /v1/tasks", key, &body).as_bytes())
            .await?;
        let begun = Instant::now();
        let seen = loop {
            if let Some(at) = browser
                .js(&format!("return seen[{n}] ?? null"))
                .await
                .as_f64()
            {
                break at;
            }
            if begun.elapsed() > Duration::from_secs(5) {
                return Err(format!("change {n} is never seen").into());
            }
        };
        times.push(seen - sent);
    }
    Ok(times)
}

/// Measurements of opening a large board: milliseconds and bytes.
struct Large {
    shown: f64,
    busy: f64,
    bytes: f64,
}

/// Opens the large board and scrolls down repeatedly.
async fn open_large(browser: &Browser) -> Large {
    browser.open("/boards/top").await;
    browser.wait_for("article.board :is(h2, h3)").await;
    browser
        .js("window.busy = 0;
             new PerformanceObserver(list => {
               for (const task of list.getEntries()) busy = Math.max(busy, task.duration);
             }).observe({type: 'longtask', buffered: true});")
        .await;
    for _ in 0..20 {
        browser.js("window.scrollBy(0, 4000)").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let told = browser
        .js("const page = performance.getEntriesByType('navigation')[0];
             return {shown: page.domContentLoadedEventEnd, busy, bytes: page.decodedBodySize}")
        .await;
    let number = |name: &str| told.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
    Large {
        shown: number("shown"),
        busy: number("busy"),
        bytes: number("bytes"),
    }
}

/// Returns the time in milliseconds since the epoch. It is comparable with the browser's clock, because the browser
/// runs on this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "it is held beside a browser's clock"
)]
fn now() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64() * 1e3
}
