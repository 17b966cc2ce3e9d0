//! Tests with several endpoints and many callers: endpoint selection by name or tag, failover, load
//! balancing, concurrency limits, and the effect of rate limits on all callers.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use polis_core::Refusal;
use polis_core::society::society_role::ModelChoice;
use polis_i18n::{Surface, UiLanguage, render_reason};
use polis_society::model::{
    LanguageModel as _, ModelEndpoints, ModelEndpointsSettings, ModelErrorKind, ProxySettings,
};
use polis_testkit::scripted_model::{ScriptedModel, ScriptedReply};

use crate::model_test_client::{TestRequest, build_endpoints, endpoint_settings, short_timeouts};

fn tagged_endpoint(
    name: &str,
    server: &ScriptedModel,
    tags: &[&str],
) -> polis_society::model::EndpointSettings {
    let mut one = endpoint_settings(name, server);
    one.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    one
}

#[tokio::test]
async fn request_uses_the_endpoint_or_tag_of_its_role() {
    let first = ScriptedModel::start_with_replies([ScriptedReply::text("first")]);
    let second = ScriptedModel::start_with_replies([ScriptedReply::text("second")]);
    let mut one = tagged_endpoint("first", &first, &["fast"]);
    one.context_limit = 1000;
    let mut two = tagged_endpoint("second", &second, &["code", "long"]);
    two.context_limit = 9000;
    let model = ModelEndpoints::new(ModelEndpointsSettings {
        endpoints: vec![one, two],
        default_endpoint: Some("second".to_owned()),
        retry_policy: short_timeouts(),
        ..ModelEndpointsSettings::default()
    })
    .unwrap();
    for (wanted, said, context) in [
        (Some("first"), "first", 1000),
        (Some("fast"), "first", 1000),
        (Some("code"), "second", 9000),
        (None, "second", 9000),
    ] {
        let question = TestRequest {
            model_choice: wanted.map(|wanted| ModelChoice {
                endpoint: Some(wanted.to_owned()),
                ..ModelChoice::default()
            }),
            ..TestRequest::default()
        };
        assert_eq!(
            question.send(&model).await.unwrap().text,
            said,
            "{wanted:?}"
        );
        assert_eq!(model.context_limit(question.model_choice.as_ref()), context);
    }
}

#[tokio::test]
async fn unknown_endpoint_or_tag_falls_back_to_the_default_with_one_warning() {
    let server = ScriptedModel::start_with_replies([ScriptedReply::text("fine")]);
    let mut one = endpoint_settings("main", &server);
    one.context_limit = 1000;
    let model = build_endpoints(vec![one]);
    for (tag, warnings) in [("code", 1), ("code", 0), ("vision", 1)] {
        let mut question = TestRequest::to_endpoint(tag);
        let choice = question.model_choice.as_mut().unwrap();
        choice.model = Some("code-model-of-elsewhere".to_owned());
        assert_eq!(question.send(&model).await.unwrap().text, "fine");
        assert_eq!(model.context_limit(question.model_choice.as_ref()), 1000);
        let notes = question.observer.recorded_events().into_iter();
        let given: Vec<String> = notes.filter(|n| n.starts_with("WARNING ")).collect();
        assert_eq!(given.len(), warnings, "{given:?}");
        for text in given {
            assert!(text.contains(tag) && text.contains("\"main\""), "{text}");
        }
    }
    // A model name for another endpoint is not requested from this one.
    let asked: Vec<String> = (server.requests().iter())
        .map(|r| r.model().to_owned())
        .collect();
    assert_eq!(asked, ["model-one"; 3]);
}

#[test]
fn invalid_endpoint_settings_are_refused() {
    let none = ModelEndpoints::new(ModelEndpointsSettings::default()).unwrap_err();
    assert_eq!(rendered_message(&none), "No model endpoint is configured.");
    let server = ScriptedModel::start_with_replies([ScriptedReply::text("x")]);
    let lost = ModelEndpoints::new(ModelEndpointsSettings {
        endpoints: vec![endpoint_settings("one", &server)],
        default_endpoint: Some("two".to_owned()),
        ..ModelEndpointsSettings::default()
    });
    assert!(rendered_message(&lost.unwrap_err()).contains("model endpoint two"));
}

/// The first endpoint of a tag fails in some way; the second responds.
#[tokio::test]
async fn failing_endpoint_falls_back_to_another_of_its_tag() {
    for (fault, most) in [
        (ScriptedReply::error_response(401, "x", "Wrong key."), 1),
        (ScriptedReply::error_response(404, "x", "No model."), 1),
        (ScriptedReply::empty_error(500), 1),
        (ScriptedReply::connection_reset(), 1),
        (ScriptedReply::rate_limited("10"), 1),
        (ScriptedReply::rate_limited("3600"), 1),
    ] {
        let bad = ScriptedModel::start_with_replies([fault.clone()]);
        let good = ScriptedModel::start_with_replies([ScriptedReply::text("fine")]);
        let model = build_endpoints(vec![
            tagged_endpoint("bad", &bad, &["code"]),
            tagged_endpoint("good", &good, &["code"]),
        ]);
        let began = Instant::now();
        let question = TestRequest::to_endpoint("code");
        let answer = question.send(&model).await.unwrap();
        assert_eq!(answer.text, "fine", "{fault:?}");
        // Waiting for the first would take ten seconds.
        assert!(began.elapsed() < Duration::from_secs(9), "{fault:?}");
        assert_eq!(
            (bad.request_count(), good.request_count()),
            (most, 1),
            "{fault:?}"
        );
        assert!(
            question.observer.recorded_events()[0].starts_with("AGAIN "),
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn failure_of_all_endpoints_of_a_tag_is_permanent() {
    let one = ScriptedModel::start_with_replies([ScriptedReply::empty_error(500)]);
    let two = ScriptedModel::start_with_replies([ScriptedReply::error_response(
        403,
        "x",
        "Not for you.",
    )]);
    let model = build_endpoints(vec![
        tagged_endpoint("one", &one, &["code"]),
        tagged_endpoint("two", &two, &["code"]),
    ]);
    let error = TestRequest::to_endpoint("code")
        .send(&model)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Permanent);
    assert_eq!((one.request_count(), two.request_count()), (3, 1));
}

/// Makes this many concurrent requests; returns how many succeeded.
async fn send_concurrently(
    model: &Arc<ModelEndpoints>,
    count: usize,
    endpoint: &'static str,
) -> usize {
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let model = Arc::clone(model);
            // Drops the response at once: it would hold its permit, and requests that are awaited first would
            // wait for it.
            tokio::spawn(async move {
                TestRequest::to_endpoint(endpoint)
                    .send(&*model)
                    .await
                    .is_ok()
            })
        })
        .collect();
    let mut good = 0;
    for task in tasks {
        good += usize::from(task.await.unwrap());
    }
    good
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_balanced_over_the_endpoints_of_a_tag() {
    let reply = || ScriptedReply::text("fine").with_delay(Duration::from_millis(30));
    let (one, two) = (
        ScriptedModel::start_with_replies([reply()]),
        ScriptedModel::start_with_replies([reply()]),
    );
    let model = Arc::new(build_endpoints(vec![
        tagged_endpoint("one", &one, &["code"]),
        tagged_endpoint("two", &two, &["code"]),
    ]));
    assert_eq!(send_concurrently(&model, 20, "code").await, 20);
    assert!(
        one.request_count() >= 6 && two.request_count() >= 6,
        "{} {}",
        one.request_count(),
        two.request_count()
    );
}

/// The concurrency limits of each endpoint and of all together are respected, and slots open only when a
/// caller waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrency_limits_are_never_exceeded() {
    let slow = |_: &_| ScriptedReply::text("fine").with_delay(Duration::from_millis(40));
    let (one, two) = (ScriptedModel::start(slow), ScriptedModel::start(slow));
    let (mut a, mut b) = (
        endpoint_settings("one", &one),
        endpoint_settings("two", &two),
    );
    (a.max_concurrency, b.max_concurrency) = (5, 100);
    let model = ModelEndpoints::new(ModelEndpointsSettings {
        endpoints: vec![a, b],
        max_concurrency: Some(8),
        retry_policy: short_timeouts(),
        ..ModelEndpointsSettings::default()
    });
    let model = Arc::new(model.unwrap());
    let (first, second) = tokio::join!(
        send_concurrently(&model, 30, "one"),
        send_concurrently(&model, 30, "two")
    );
    assert_eq!((first, second), (30, 30));
    assert!(
        one.max_concurrent_requests() <= 5,
        "{}",
        one.max_concurrent_requests()
    );
    assert!(
        two.max_concurrent_requests() <= 8,
        "{}",
        two.max_concurrent_requests()
    );
    assert!(
        one.max_concurrent_requests() + two.max_concurrent_requests() > 6,
        "slots did open"
    );
}

/// A response holds its permit until it is dropped.
#[tokio::test]
async fn response_holds_its_permit_until_dropped() {
    let server = ScriptedModel::start_with_replies([ScriptedReply::text("fine")]);
    let mut one = endpoint_settings("main", &server);
    one.max_concurrency = 1;
    let model = build_endpoints(vec![one]);
    let answer = TestRequest::default().send(&model).await.unwrap();
    let question = TestRequest::default();
    let second = question.send(&model);
    tokio::pin!(second);
    let early = tokio::time::timeout(Duration::from_millis(60), &mut second).await;
    assert!(early.is_err(), "the permit is held");
    assert_eq!(server.request_count(), 1);
    drop(answer);
    assert_eq!(second.await.unwrap().text, "fine");
}

/// One caller is always refused by a rate limit: the others get responses in between, and its request fails
/// in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limited_model_does_not_starve_others() {
    let server = ScriptedModel::start(|request| match request.model() {
        "sick" => ScriptedReply::rate_limited("0.05"),
        _ => ScriptedReply::text("fine").with_delay(Duration::from_millis(5)),
    });
    let mut one = endpoint_settings("main", &server);
    one.max_concurrency = 1;
    let model = Arc::new(build_endpoints(vec![one]));
    let asked = Arc::clone(&model);
    let sick = tokio::spawn(async move {
        let mut question = TestRequest::to_endpoint("main");
        question.model_choice.as_mut().unwrap().model = Some("sick".to_owned());
        question.send(&*asked).await
    });
    server.wait_for_requests(1);
    // The others continue until the refused request fails: if it starved them, or never failed, this would
    // not end.
    let mut rounds = 0;
    while !sick.is_finished() {
        assert_eq!(send_concurrently(&model, 3, "main").await, 3);
        rounds += 1;
        assert!(rounds < 500, "the refused request must fail");
    }
    let error = sick.await.unwrap().unwrap_err();
    assert!(error.message.contains("This lasted for"), "{error}");
    let requests = server.requests();
    let at: Vec<usize> = (0..requests.len())
        .filter(|at| requests[*at].model() == "sick")
        .collect();
    // It fails after nine refusals with responses to others before each: three times the configured attempts.
    let between = at.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
    // A response may be counted before or after a request that arrives at the same moment.
    assert!((8..=10).contains(&between), "{at:?}");
}

/// An overloaded server refuses everything: after a few refusals no request is sent before the pause is over,
/// and then not all at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overloaded_endpoint_is_paused_for_all_callers() {
    const OVERLOAD_DURATION: Duration = Duration::from_millis(1_900);
    let refusals = Arc::new(Mutex::new(Vec::<Instant>::new()));
    let noted = Arc::clone(&refusals);
    let server = ScriptedModel::start(move |request| {
        let mut refusals = noted.lock().unwrap();
        let is_over = refusals
            .first()
            .map(|first| first.elapsed() > OVERLOAD_DURATION);
        if is_over.unwrap_or(request.index < 20) {
            return ScriptedReply::text("fine").with_delay(Duration::from_millis(30));
        }
        refusals.push(Instant::now());
        ScriptedReply::rate_limited("2")
    });
    let mut one = endpoint_settings("main", &server);
    one.max_concurrency = 4;
    let model = Arc::new(build_endpoints(vec![one]));
    assert_eq!(send_concurrently(&model, 60, "main").await, 60);
    let refusals = refusals.lock().unwrap().clone();
    // Three in a row and those in progress, four at a time; on a busy machine they arrive late. Far fewer
    // than 60.
    assert!((3..=12).contains(&refusals.len()), "{refusals:?}");
    let late: Vec<Instant> = (server.requests().iter().map(|one| one.received_at))
        .filter(|at| *at > refusals[0] + OVERLOAD_DURATION)
        .collect();
    assert_eq!(late.len(), 40);
    let spread = late[late.len() - 1] - late[0];
    assert!(
        spread > Duration::from_millis(300),
        "all at once: {spread:?}"
    );
}

#[tokio::test]
async fn http_proxy_receives_the_request() {
    let proxy = ScriptedModel::start_with_replies([ScriptedReply::text("through the proxy")]);
    let mut one = endpoint_settings("main", &proxy);
    one.base_url = "http://models.invalid/v1".to_owned();
    let ask = |no: &str| {
        let settings = ModelEndpointsSettings {
            endpoints: vec![one.clone()],
            retry_policy: short_timeouts(),
            proxies: ProxySettings {
                http: format!("http://me:pass@127.0.0.1:{}", proxy.port()),
                no_proxy: no.to_owned(),
                ..ProxySettings::default()
            },
            ..ModelEndpointsSettings::default()
        };
        async move {
            TestRequest::default()
                .send(&ModelEndpoints::new(settings).unwrap())
                .await
        }
    };
    assert_eq!(ask("").await.unwrap().text, "through the proxy");
    let [request] = proxy.requests().try_into().unwrap();
    assert_eq!(
        request.method_and_path,
        "POST http://models.invalid/v1/chat/completions"
    );
    assert_eq!(request.header_value("host"), Some("models.invalid"));
    assert_eq!(
        request.header_value("proxy-authorization"),
        Some("Basic bWU6cGFzcw==")
    );
    assert!(ask("models.invalid").await.is_err());
    assert_eq!(proxy.request_count(), 1);
}

fn rendered_message(refusal: &Refusal) -> String {
    render_reason(&refusal.reason, Surface::Cli, UiLanguage::En).message
}
