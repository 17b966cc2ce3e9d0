//! Tests of the configuration keys: the template, errors with their line, and API keys that are not repeated in errors.

use super::*;

#[test]
fn the_template_is_a_valid_file_with_every_key() {
    let config = parse(&template("zh")).unwrap();
    assert_eq!(config.language, "zh");
    let all = template("en")
        .lines()
        .map(|l| l.trim_start_matches("# "))
        .filter(|l| l.contains(" = ") || l.starts_with('['))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(parse(&all).is_ok(), "{all}");
    for key in super::all() {
        let name = key.name.rsplit('.').next().unwrap();
        assert!(all.contains(&format!("{name} = ")), "{name}");
    }
}

#[test]
fn faults_name_their_line_and_what_was_meant() {
    let message = |text: &str| parse(text).unwrap_err().message;
    assert_eq!(
        message("\nlangage = \"en\""),
        "polis.toml, line 2: unknown key \"langage\"; did you mean \"language\"?"
    );
    assert!(message("[tasks]\n\napproval_reqired = []").contains("line 3"));
    assert!(message("language = \"fr\"").contains("not one of en, zh"));
    assert!(message("patience = 5").contains("expected a text"));
    assert!(message("[tasks]\ndefault_lease = \"soon\"").contains("line 2"));
    assert!(message("a = = b").contains("line 1"));
    assert!(
        message("[tasks]\napproval_required = [\"deploy\"]")
            .contains("did you mean \"deployment\"")
    );
    for (text, says) in [
        ("[society]\nagent = 3", "did you mean \"society.agents\"?"),
        ("[society]\ndepth = 0", "from 1 to 100"),
        (
            "[society.budget]\ntoken = 3",
            "did you mean \"society.budget.tokens\"?",
        ),
        ("[society]\nbudget.wall = \"soon\"", "line 2"),
        ("[models.a]\nmodle = \"m\"", "did you mean \"model\"?"),
        ("[models.a]\n\nprice_in = -1", "line 3"),
        (
            "[models]\ndefault = \"fats\"\n[models.fast]",
            "line 2: models.default: there is no [models.fats]; did you mean \"fast\"?",
        ),
        (
            "[models.a]\nkey_env = \"A\"\nkey_file = \"b\"",
            "line 1: models.a: of key_env",
        ),
        (
            "[models.a]\nbase_url = \"api.example.org\"",
            "http:// or https://",
        ),
        ("[models]\nfast = 3", "unknown key \"models.fast\""),
    ] {
        let message = message(text);
        assert!(message.contains(says), "{text}: {message}");
    }
}

#[test]
fn a_key_in_the_wrong_place_is_not_repeated() {
    for text in [
        "[models.a]\nkey_env = \"sk-s3cret\"",
        "[models.a]\napi_key = \"sk-s3cret\"",
        "[models.a]\nbase_url = \"https://u:sk-s3cret@h/v1\"",
        "[models.a]\nbase_url = \"https://h/v1?key=sk-s3cret\"",
    ] {
        let message = parse(text).unwrap_err().message;
        assert!(
            message.contains("key_env") || message.contains("variable"),
            "{message}"
        );
        assert!(!message.contains("s3cret"), "{message}");
    }
}
