//! Headless Chromium driven over WebDriver, for tests of the web interface, including accessibility checks
//! with axe-core.
//!
//! `POLIS_TEST_CHROMEDRIVER` names the driver (default: `chromedriver`), `POLIS_TEST_AXE` the axe-core file;
//! `scripts/test` installs both.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Timeout after which a test counts as hanging.
const HANGING: Duration = Duration::from_secs(60);
/// Polling interval.
const LOOK: Duration = Duration::from_millis(20);

/// A browser with one tab.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    /// The WebDriver client.
    pub client: Client,
    /// Base URL of the server.
    home: String,
    _profile: TempDir,
}

/// Browser configuration.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Window size (width, height).
    pub size: (u32, u32),
    /// Preferred language (`Accept-Language`).
    pub language: &'static str,
    /// Whether the system's colour scheme is dark.
    pub dark: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            size: (1280, 900),
            language: "en",
            dark: false,
        }
    }
}

/// Runs `doing` with a fresh browser profile pointed at a server; the browser is not signed in.
pub fn with<T>(home: &str, setup: Setup, doing: impl AsyncFnOnce(&Browser) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let browser = Browser::start(home, setup).await;
        let done = doing(&browser).await;
        // A browser that does not close is killed on drop.
        let _ = browser.client.clone().close().await;
        done
    })
}

impl Browser {
    async fn start(home: &str, setup: Setup) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (driver, port) = start_driver();
        let (width, height) = setup.size;
        let mut flags = vec![
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--force-prefers-reduced-motion".to_owned(),
            format!("--user-data-dir={}", profile.path().display()),
            format!("--window-size={width},{height}"),
        ];
        if setup.dark {
            flags.push("--blink-settings=preferredColorScheme=0".to_owned());
        }
        let wanted = json!({
            "goog:chromeOptions": {"args": flags, "prefs": {"intl.accept_languages": setup.language}},
            "goog:loggingPrefs": {"browser": "ALL"},
        });
        let Value::Object(wanted) = wanted else {
            unreachable!()
        };
        let wanted: Capabilities = wanted;
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(wanted)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        Self {
            driver,
            client,
            home: home.to_owned(),
            _profile: profile,
        }
    }

    /// Signs in by following the link that the server printed.
    pub async fn sign_in(&self, link: &str) {
        self.client.goto(link).await.unwrap();
        self.wait_for("header.bar nav").await;
    }

    /// Opens a page.
    pub async fn open(&self, path: &str) {
        let url = format!("{}{path}", self.home);
        self.done(path, async || self.client.goto(&url).await).await;
    }

    /// Returns the current page's path with its query.
    pub async fn path(&self) -> String {
        let url = self
            .done("the path", async || self.client.current_url().await)
            .await;
        path_of(&url)
    }

    /// Retries an action until the page allows it: the page may be navigating or re-rendering.
    async fn done<T>(&self, what: &str, doing: impl AsyncFn() -> Result<T, CmdError>) -> T {
        let begun = Instant::now();
        loop {
            match doing().await {
                Ok(done) => return done,
                Err(error) if passes(&error) && begun.elapsed() < HANGING => {
                    tokio::time::sleep(LOOK).await;
                }
                Err(error) => panic!("{what}: {error} on {}", self.page_text().await),
            }
        }
    }

    async fn find(&self, css: &str) -> Result<Element, CmdError> {
        self.client.find(Locator::Css(css)).await
    }

    /// Waits for an element.
    pub async fn wait_for(&self, css: &str) {
        self.done(css, async || self.find(css).await.map(drop))
            .await;
    }

    /// Returns the visible text of an element.
    pub async fn text(&self, css: &str) -> String {
        self.done(css, async || self.find(css).await?.text().await)
            .await
    }

    /// Waits until a script returns true.
    pub async fn until(&self, what: &str, script: &str) {
        let begun = Instant::now();
        while self.js(script).await != json!(true) {
            assert!(
                begun.elapsed() < HANGING,
                "{what} does not come about on {}",
                self.page_text().await
            );
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until an element contains this text.
    pub async fn until_text(&self, css: &str, text: &str) {
        let script = format!(
            "return [...document.querySelectorAll({})].some(e => e.textContent.includes({}))",
            json!(css),
            json!(text)
        );
        self.until(&format!("{text:?} in {css}"), &script).await;
    }

    /// Waits until no such element contains this text.
    pub async fn until_no_text(&self, css: &str, text: &str) {
        let script = format!(
            "return ![...document.querySelectorAll({})].some(e => e.textContent.includes({}))",
            json!(css),
            json!(text)
        );
        self.until(&format!("no {text:?} in {css}"), &script).await;
    }

    /// Returns the result of a script.
    pub async fn js(&self, script: &str) -> Value {
        self.done(script, async || {
            self.client.execute(script, Vec::new()).await
        })
        .await
    }

    /// Clicks an element.
    pub async fn click(&self, css: &str) {
        self.done(css, async || self.find(css).await?.click().await)
            .await;
    }

    /// Types into an element, after its current value.
    pub async fn write(&self, css: &str, text: &str) {
        self.done(css, async || self.find(css).await?.send_keys(text).await)
            .await;
    }

    /// Replaces an element's value by typing.
    pub async fn fill(&self, css: &str, text: &str) {
        self.done(css, async || {
            let element = self.find(css).await?;
            element.clear().await?;
            element.send_keys(text).await
        })
        .await;
    }

    /// Presses keys in the focused element.
    pub async fn press(&self, keys: &str) {
        let mut actions = KeyActions::new("keys".to_owned());
        for key in keys.chars() {
            actions = actions
                .then(KeyAction::Down { value: key })
                .then(KeyAction::Up { value: key });
        }
        // Key presses cannot be retried, so the page has to be loaded first.
        self.js("return document.readyState").await;
        self.client.perform_actions(actions).await.unwrap();
    }

    /// Returns the visible text of the page, for failure messages.
    pub async fn page_text(&self) -> String {
        let script = "return document.body.innerText";
        let text = self.client.execute(script, Vec::new()).await;
        let text = text.unwrap_or_else(|error| Value::String(error.to_string()));
        let url = self.client.current_url().await;
        let path = url.map_or_else(|error| error.to_string(), |url| path_of(&url));
        format!("{path}:\n{}", text.as_str().unwrap_or_default())
    }

    /// Returns the severe console messages since the last call: script errors, CSP violations, failed loads.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self
            .done("the console", async || {
                self.client.issue_cmd(BrowserLog).await
            })
            .await;
        let entries = log.as_array().cloned().unwrap_or_default();
        let severe = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        severe.map(|entry| entry["message"].to_string()).collect()
    }

    /// Overrides the browser's time zone, for example `Pacific/Kiritimati`.
    pub async fn live_in(&self, zone: &str) {
        let zone = json!({"timezoneId": zone});
        self.tell("Emulation.setTimezoneOverride", zone).await;
    }

    /// Runs a script on every page loaded from now on, before the page's own scripts.
    pub async fn first_of_all(&self, script: &str) {
        let script = json!({"source": script});
        self.tell("Page.addScriptToEvaluateOnNewDocument", script)
            .await;
    }

    async fn tell(&self, command: &'static str, params: Value) {
        let told = self.client.issue_cmd(Own { command, params }).await;
        told.unwrap();
    }

    /// Returns the serious and critical accessibility violations on the page.
    pub async fn faults(&self) -> Vec<String> {
        let file = told("POLIS_TEST_AXE").expect("POLIS_TEST_AXE names axe.min.js");
        let axe = std::fs::read_to_string(file).unwrap();
        let run = "const done = arguments[arguments.length - 1];
            axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})
               .then(found => done(found.violations.filter(v => ['serious', 'critical'].includes(v.impact))
               .map(v => v.id + ': ' + v.help + ' at ' + v.nodes.map(n => n.html).slice(0, 3).join(' | '))))";
        let found = self
            .done("accessibility", async || {
                self.client.execute(&axe, Vec::new()).await?;
                self.client.execute_async(run, Vec::new()).await
            })
            .await;
        let found = found.as_array().cloned().unwrap_or_default();
        let texts = found.iter().filter_map(|one| one.as_str());
        texts.map(str::to_owned).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Kills the process group, so that the browser ends too if the test failed early.
        let group = rustix::process::Pid::from_child(&self.driver);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.driver.wait();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where tests are told which browser to use"
)]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Starts a driver on a free port.
fn start_driver() -> (Child, u16) {
    let program = told("POLIS_TEST_CHROMEDRIVER").unwrap_or_else(|| "chromedriver".to_owned());
    let mut driver = Command::new(&program)
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap_or_else(|error| panic!("{program} does not start: {error}"));
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.find_map(|line| {
        let line = line.unwrap();
        let (_, port) = line.split_once("successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    // Drain the remaining output, so that the pipe does not fill up.
    std::thread::spawn(move || lines.for_each(drop));
    (driver, port.expect("the driver names its port"))
}

/// Returns the path of a URL with its query.
fn path_of(url: &url::Url) -> String {
    let query = url.query().map(|q| format!("?{q}")).unwrap_or_default();
    format!("{}{query}", url.path())
}

/// Whether an error is transient: the element does not exist yet, or disappeared during the command.
///
/// Drivers report a page that is being left with more error names than the standard defines, so these are
/// recognised by their text.
fn passes(error: &CmdError) -> bool {
    if error.is_javascript_error() {
        return false;
    }
    let told = error.to_string();
    error.is_no_such_element()
        || error.is_stale_element_reference()
        || error.is_element_not_interactable()
        || ["document", "context", "navigat", "intercepted"]
            .iter()
            .any(|word| told.contains(word))
}

/// Chromium-specific command that returns the console log.
#[derive(Debug)]
struct BrowserLog;

impl WebDriverCompatibleCommand for BrowserLog {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (
            http::Method::POST,
            Some(json!({"type": "browser"}).to_string()),
        )
    }
}

/// A Chromium-specific (CDP) command.
#[derive(Debug)]
struct Own {
    command: &'static str,
    params: Value,
}

impl WebDriverCompatibleCommand for Own {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        let session = session.unwrap_or_default();
        base.join(&format!("session/{session}/goog/cdp/execute"))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        let what = json!({
            "cmd": self.command,
            "params": self.params,
        });
        (http::Method::POST, Some(what.to_string()))
    }
}
