//! Tests of `[sandbox]`: defaults, inheritance of roles, errors with their line, and sizes.

use super::*;
use crate::config::config_keys::parse_config;

#[test]
fn default_config_yields_default_policy() {
    let policies = SandboxConfig::default().command_policies();
    assert_eq!(policies.default, CommandPolicy::default());
    assert!(policies.roles.is_empty());
}

#[test]
fn role_inherits_unset_keys() {
    let text = "roles = [\"builder\"]\n[sandbox]\nmemory = \"1GiB\"\nprocesses = 64\nnetwork = \"loopback\"\n\
         env = { CI = \"1\", KEY = \"$KEY\" }\n[sandbox.roles.builder]\nnetwork = \"on\"\nwrite = [\"/var/cache\"]\n\
         timeout = \"10m\"\ntmp = 1048576\n[sandbox.roles.test-leader]\nweakest = \"T0\"\n";
    let policies = parse_config(text).unwrap().sandbox.command_policies();
    let (all, builder) = (&policies.default, policies.for_role("builder"));
    assert_eq!(policies.for_role("anybody"), all);
    assert_eq!((all.limits.memory, all.limits.processes), (1 << 30, 64));
    assert_eq!(all.network, NetworkAccess::Loopback);
    assert_eq!(all.env.get("KEY").map(String::as_str), Some("$KEY"));
    let mut expected = all.clone();
    expected.network = NetworkAccess::On;
    expected.write = vec!["/var/cache".to_owned()];
    expected.timeout_ms = 600_000;
    expected.limits.tmp = 1 << 20;
    assert_eq!(*builder, expected);
    assert_eq!(
        policies.for_role("test-leader").weakest_tier,
        SandboxTier::Full
    );
}

#[test]
fn invalid_values_are_refused_with_line() {
    for (text, line, word) in [
        ("[sandbox]\nnetwork = \"of\"", 2, "did you mean \"off\""),
        ("[sandbox]\nmemory = \"much\"", 2, "not a size"),
        ("[sandbox]\nmemory = 5", 2, "too small"),
        ("[sandbox]\nmemory = -5", 2, "out of range"),
        ("[sandbox]\nmemory = \"9999999TiB\"", 2, "too large"),
        ("[sandbox]\nmemory = \"99999999TiB\"", 2, "not a size"),
        ("[sandbox]\nprocesses = \"x\"", 2, "expected a number"),
        ("[sandbox]\nprocesses = 0", 2, "too small"),
        ("[sandbox]\ncpu = 5", 2, "expected a string"),
        ("[sandbox]\ntimeout = \"0s\"", 2, "out of range"),
        ("[sandbox]\nread = [\"lib\"]", 2, "absolute"),
        ("[sandbox]\nwrite = [\"/a/../b\"]", 2, "absolute"),
        ("[sandbox]\nenv = { \"A B\" = \"1\" }", 2, "A B"),
        ("[sandbox]\nenv = { A = \"$1\" }", 2, "name of a variable"),
        ("[sandbox]\nweakest = \"T3\"", 2, "T0, T0u, T1, T2"),
        ("[sandbox]\nmemry = 1", 2, "sandbox.memory"),
        (
            "[sandbox.roles.architect]\n\nmemry = 1",
            3,
            "did you mean \"memory\"",
        ),
        ("[sandbox.roles.architect]\nroles = {}", 2, "unknown key"),
        ("[sandbox.roles]\narchitct = {}", 2, "architect"),
        ("[sandbox.roles]\narchitect = 5", 2, "expected a table"),
        ("[sandbox]\nroles = 5", 2, "expected a table"),
        (
            "[sandbox.roles.architect]\ncpu = \"1m\"\n[sandbox.roles.test-leader]\ncpu = \"x\"",
            4,
            "sandbox.roles.test-leader.cpu",
        ),
    ] {
        let message = polis_i18n::render_reason(
            &parse_config(text).unwrap_err().reason,
            polis_i18n::Surface::Cli,
            polis_i18n::UiLanguage::En,
        )
        .message;
        let begins = format!("polis.toml, line {line}: ");
        assert!(message.starts_with(&begins), "{text:?}: {message}");
        assert!(message.contains(word), "{text:?}: {message}");
    }
}

#[test]
fn sizes_are_parsed_with_units() {
    for (text, bytes) in [
        ("1", 1),
        ("64KiB", 65_536),
        ("2 MiB", 2 << 20),
        ("1kB", 1_000),
        ("3GB", 3_000_000_000),
        ("1TiB", 1 << 40),
    ] {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
    }
    for bad in [
        "",
        "MiB",
        "1.5GiB",
        "-1",
        "1 gig",
        "1e9",
        "99999999999999999999",
        "16777216TiB",
    ] {
        assert!(parse_size(bad).is_err(), "{bad}");
    }
}
