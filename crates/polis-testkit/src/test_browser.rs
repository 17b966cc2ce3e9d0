//! Test browser: headless Chromium driven over WebDriver, for tests of the web interface, including
//! accessibility checks with axe-core. Compiled only with the feature `browser`.
//!
//! `POLIS_TEST_CHROMEDRIVER` names the driver (default: `chromedriver`), `POLIS_TEST_AXE` the axe-core file;
//! `scripts/test` installs both. If one is missing, a test that needs it fails; it is not skipped.

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
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval at which the page is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A browser with one tab.
#[derive(Debug)]
pub struct TestBrowser {
    driver: Child,
    /// WebDriver client of the session, for actions that have no method here.
    pub client: Client,
    /// Base URL of the server.
    base_url: String,
    _profile: TempDir,
}

/// Browser configuration.
#[derive(Debug, Clone, Copy)]
pub struct BrowserOptions {
    /// Window size (width, height).
    pub window_size: (u32, u32),
    /// Preferred language (`Accept-Language`).
    pub language: &'static str,
    /// Whether the system's colour scheme is dark.
    pub dark_mode: bool,
}

impl Default for BrowserOptions {
    fn default() -> Self {
        Self {
            window_size: (1280, 900),
            language: "en",
            dark_mode: false,
        }
    }
}

/// Runs `action` with a fresh browser profile pointed at a server; the browser is not signed in. Returns its
/// result.
pub fn with_browser<T>(
    home: &str,
    setup: BrowserOptions,
    action: impl AsyncFnOnce(&TestBrowser) -> T,
) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let browser = TestBrowser::start(home, setup).await;
        let done = action(&browser).await;
        // A browser that does not close is killed on drop.
        let _ = browser.client.clone().close().await;
        done
    })
}

impl TestBrowser {
    async fn start(home: &str, setup: BrowserOptions) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (driver, port) = start_driver();
        let (width, height) = setup.window_size;
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
        if setup.dark_mode {
            flags.push("--blink-settings=preferredColorScheme=0".to_owned());
        }
        let capabilities = json!({
            "goog:chromeOptions": {"args": flags, "prefs": {"intl.accept_languages": setup.language}},
            "goog:loggingPrefs": {"browser": "ALL"},
        });
        let Value::Object(capabilities) = capabilities else {
            unreachable!()
        };
        let capabilities: Capabilities = capabilities;
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        Self {
            driver,
            client,
            base_url: home.to_owned(),
            _profile: profile,
        }
    }

    /// Signs in by following the link that the server printed.
    pub async fn sign_in(&self, link: &str) {
        self.client.goto(link).await.unwrap();
        self.wait_for_element("header.bar nav").await;
    }

    /// Opens a page.
    pub async fn open_page(&self, path: &str) {
        let url = format!("{}{path}", self.base_url);
        self.retry_transient_errors(path, async || self.client.goto(&url).await)
            .await;
    }

    /// Returns the current page's path with its query.
    pub async fn current_path(&self) -> String {
        let url = self
            .retry_transient_errors("the path", async || self.client.current_url().await)
            .await;
        path_and_query(&url)
    }

    /// Retries an action until the page allows it: the page may be navigating or re-rendering.
    async fn retry_transient_errors<T>(
        &self,
        description: &str,
        action: impl AsyncFn() -> Result<T, CmdError>,
    ) -> T {
        let start = Instant::now();
        loop {
            match action().await {
                Ok(done) => return done,
                Err(error) if is_transient_error(&error) && start.elapsed() < WAIT_TIMEOUT => {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                Err(error) => panic!("{description}: {error} on {}", self.page_text().await),
            }
        }
    }

    async fn find_element(&self, css: &str) -> Result<Element, CmdError> {
        self.client.find(Locator::Css(css)).await
    }

    /// Waits for an element.
    pub async fn wait_for_element(&self, css: &str) {
        self.retry_transient_errors(css, async || self.find_element(css).await.map(drop))
            .await;
    }

    /// Returns the visible text of an element.
    pub async fn element_text(&self, css: &str) -> String {
        self.retry_transient_errors(css, async || self.find_element(css).await?.text().await)
            .await
    }

    /// Waits until a script returns true.
    pub async fn wait_until_true(&self, description: &str, script: &str) {
        let start = Instant::now();
        while self.run_script(script).await != json!(true) {
            assert!(
                start.elapsed() < WAIT_TIMEOUT,
                "timed out waiting for {description} on {}",
                self.page_text().await
            );
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until an element contains this text.
    pub async fn wait_for_text(&self, css: &str, text: &str) {
        let script = format!(
            "return [...document.querySelectorAll({})].some(e => e.textContent.includes({}))",
            json!(css),
            json!(text)
        );
        self.wait_until_true(&format!("{text:?} in {css}"), &script)
            .await;
    }

    /// Waits until no such element contains this text.
    pub async fn wait_until_text_gone(&self, css: &str, text: &str) {
        let script = format!(
            "return ![...document.querySelectorAll({})].some(e => e.textContent.includes({}))",
            json!(css),
            json!(text)
        );
        self.wait_until_true(&format!("no {text:?} in {css}"), &script)
            .await;
    }

    /// Returns the result of a script.
    pub async fn run_script(&self, script: &str) -> Value {
        self.retry_transient_errors(script, async || {
            self.client.execute(script, Vec::new()).await
        })
        .await
    }

    /// Clicks an element.
    pub async fn click_element(&self, css: &str) {
        self.retry_transient_errors(css, async || self.find_element(css).await?.click().await)
            .await;
    }

    /// Types into an element, after its current value.
    pub async fn type_text(&self, css: &str, text: &str) {
        self.retry_transient_errors(css, async || {
            self.find_element(css).await?.send_keys(text).await
        })
        .await;
    }

    /// Replaces an element's value by typing.
    pub async fn replace_text(&self, css: &str, text: &str) {
        self.retry_transient_errors(css, async || {
            let element = self.find_element(css).await?;
            element.clear().await?;
            element.send_keys(text).await
        })
        .await;
    }

    /// Presses keys in the focused element.
    pub async fn press_keys(&self, keys: &str) {
        let mut actions = KeyActions::new("keys".to_owned());
        for key in keys.chars() {
            actions = actions
                .then(KeyAction::Down { value: key })
                .then(KeyAction::Up { value: key });
        }
        // Key presses cannot be retried, so the page has to be loaded first.
        self.run_script("return document.readyState").await;
        self.client.perform_actions(actions).await.unwrap();
    }

    /// Returns the visible text of the page, for failure messages.
    pub async fn page_text(&self) -> String {
        let script = "return document.body.innerText";
        let text = self.client.execute(script, Vec::new()).await;
        let text = text.unwrap_or_else(|error| Value::String(error.to_string()));
        let url = self.client.current_url().await;
        let path = url.map_or_else(|error| error.to_string(), |url| path_and_query(&url));
        format!("{path}:\n{}", text.as_str().unwrap_or_default())
    }

    /// Returns the severe console messages since the last call: script errors, CSP violations, failed loads.
    pub async fn console_errors(&self) -> Vec<String> {
        let log = self
            .retry_transient_errors("the console", async || {
                self.client.issue_cmd(ConsoleLogCommand).await
            })
            .await;
        let entries = log.as_array().cloned().unwrap_or_default();
        let severe = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        severe.map(|entry| entry["message"].to_string()).collect()
    }

    /// Overrides the browser's time zone, for example `Pacific/Kiritimati`.
    pub async fn set_time_zone(&self, zone: &str) {
        let zone = json!({"timezoneId": zone});
        self.send_cdp_command("Emulation.setTimezoneOverride", zone)
            .await;
    }

    /// Runs a script on every page loaded from now on, before the page's own scripts.
    pub async fn add_init_script(&self, script: &str) {
        let script = json!({"source": script});
        self.send_cdp_command("Page.addScriptToEvaluateOnNewDocument", script)
            .await;
    }

    async fn send_cdp_command(&self, command: &'static str, params: Value) {
        let result = self.client.issue_cmd(CdpCommand { command, params }).await;
        result.unwrap();
    }

    /// Returns the serious and critical accessibility violations on the page.
    pub async fn accessibility_violations(&self) -> Vec<String> {
        let file = read_env_variable("POLIS_TEST_AXE").expect("POLIS_TEST_AXE names axe.min.js");
        let axe = std::fs::read_to_string(file).unwrap();
        let run = "const done = arguments[arguments.length - 1];
            axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})
               .then(found => done(found.violations.filter(v => ['serious', 'critical'].includes(v.impact))
               .map(v => v.id + ': ' + v.help + ' at ' + v.nodes.map(n => n.html).slice(0, 3).join(' | '))))";
        let found = self
            .retry_transient_errors("accessibility", async || {
                self.client.execute(&axe, Vec::new()).await?;
                self.client.execute_async(run, Vec::new()).await
            })
            .await;
        let found = found.as_array().cloned().unwrap_or_default();
        let texts = found.iter().filter_map(|one| one.as_str());
        texts.map(str::to_owned).collect()
    }
}

impl Drop for TestBrowser {
    fn drop(&mut self) {
        // Kills the process group, so that the browser ends too if the test failed early.
        let group = rustix::process::Pid::from_child(&self.driver);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.driver.wait();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests configure the browser through environment variables"
)]
fn read_env_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Starts a driver on a free port and returns it with the port. A driver that several tests start at the same
/// moment sometimes ends because the port it chose is already taken, so starting is retried.
fn start_driver() -> (Child, u16) {
    const MAX_STARTS: usize = 5;
    (0..MAX_STARTS)
        .find_map(|_| try_start_driver())
        .expect("the driver starts and names its port")
}

/// Starts a driver. Returns `None` if it ends before it listens.
fn try_start_driver() -> Option<(Child, u16)> {
    let program =
        read_env_variable("POLIS_TEST_CHROMEDRIVER").unwrap_or_else(|| "chromedriver".to_owned());
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
    let Some(port) = port else {
        let _ = driver.wait();
        return None;
    };
    // Drain the remaining output, so that the pipe does not fill up.
    std::thread::spawn(move || lines.for_each(drop));
    Some((driver, port))
}

/// Returns the path of a URL with its query.
fn path_and_query(url: &url::Url) -> String {
    let query = url.query().map(|q| format!("?{q}")).unwrap_or_default();
    format!("{}{query}", url.path())
}

/// Returns whether an error is transient: the element does not exist yet, or disappeared during the command.
///
/// Drivers report a page that is being left with more error names than the standard defines, so these are
/// recognized by their text.
fn is_transient_error(error: &CmdError) -> bool {
    if error.is_javascript_error() {
        return false;
    }
    let message = error.to_string();
    error.is_no_such_element()
        || error.is_stale_element_reference()
        || error.is_element_not_interactable()
        || ["document", "context", "navigat", "intercepted"]
            .iter()
            .any(|word| message.contains(word))
}

/// Chromium-specific command that returns the console log.
#[derive(Debug)]
struct ConsoleLogCommand;

impl WebDriverCompatibleCommand for ConsoleLogCommand {
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
struct CdpCommand {
    command: &'static str,
    params: Value,
}

impl WebDriverCompatibleCommand for CdpCommand {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        let session = session.unwrap_or_default();
        base.join(&format!("session/{session}/goog/cdp/execute"))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        let body = json!({
            "cmd": self.command,
            "params": self.params,
        });
        (http::Method::POST, Some(body.to_string()))
    }
}
