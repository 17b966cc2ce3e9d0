//! HTTP API tests of the language of problem documents, which a client selects with `Accept-Language`.

use http::Method;
use serde_json::Value;

use crate::test_server::TestServer;

#[tokio::test]
async fn problem_is_in_the_language_that_the_client_accepts() {
    let server = TestServer::new().await;
    for (accepted, language, title, detail, hint) in [
        (
            "zh-CN,zh;q=0.9,en;q=0.8",
            "zh",
            "没有这个任务。",
            "没有任务 #7。",
            "用 `GET /v1/tasks` 列出任务",
        ),
        (
            "fr, en;q=0.5",
            "en",
            "No such task.",
            "Task #7 not found.",
            "list the tasks with `GET /v1/tasks`",
        ),
    ] {
        let headers = [("accept-language", accepted)];
        let answer = server
            .send_with_headers(
                &server.ada_token,
                Method::GET,
                "/v1/tasks/7",
                Value::Null,
                &headers,
            )
            .await;
        let problem = answer.expect_problem(404, "task_not_found");
        assert_eq!(answer.header("content-language"), language);
        assert_eq!(problem["title"], title);
        assert_eq!(problem["detail"], detail);
        assert_eq!(problem["hint"], hint);
    }
}
