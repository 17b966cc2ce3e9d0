//! Tests of `[sandbox]`: defaults, inheritance of roles, errors with their line, and sizes.

use super::*;
use crate::config::keys::parse;

#[test]
fn without_a_file_commands_may_do_what_the_rules_say() {
    let policies = SandboxConfig::default().policies();
    assert_eq!(policies.default, CommandPolicy::default());
    assert!(policies.roles.is_empty());
}

#[test]
fn a_role_has_the_rest_from_everybody() {
    let text = "roles = [\"builder\"]\n[sandbox]\nmemory = \"1GiB\"\nprocesses = 64\nnetwork = \"loopback\"\n\
         env = { CI = \"1\", KEY = \"$KEY\" }\n[sandbox.roles.builder]\nnetwork = \"on\"\nwrite = [\"/var/cache\"]\n\
         timeout = \"10m\"\ntmp = 1048576\n[sandbox.roles.test-leader]\nweakest = \"T0\"\n";
    let policies = parse(text).unwrap().sandbox.policies();
    let (all, builder) = (&policies.default, policies.of("builder"));
    assert_eq!(policies.of("anybody"), all);
    assert_eq!((all.limits.memory, all.limits.processes), (1 << 30, 64));
    assert_eq!(all.network, Network::Loopback);
    assert_eq!(all.env.get("KEY").map(String::as_str), Some("$KEY"));
    let mut expected = all.clone();
    expected.network = Network::On;
    expected.write = vec!["/var/cache".to_owned()];
    expected.timeout_ms = 600_000;
    expected.limits.tmp = 1 << 20;
    assert_eq!(*builder, expected);
    assert_eq!(policies.of("test-leader").weakest, Tier::Full);
}

#[test]
fn what_makes_no_sense_is_named_with_its_line() {
    for (text, line, word) in [
        ("[sandbox]\nnetwork = \"of\"", 2, "did you mean \"off\""),
        ("[sandbox]\nmemory = \"much\"", 2, "not a size"),
        ("[sandbox]\nmemory = 5", 2, "too little"),
        ("[sandbox]\nmemory = -5", 2, "not possible"),
        ("[sandbox]\nmemory = \"9999999TiB\"", 2, "too much"),
        ("[sandbox]\nmemory = \"99999999TiB\"", 2, "not a size"),
        ("[sandbox]\nprocesses = \"x\"", 2, "expected a number"),
        ("[sandbox]\nprocesses = 0", 2, "too little"),
        ("[sandbox]\ncpu = 5", 2, "expected a text"),
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
        let message = parse(text).unwrap_err().message;
        let begins = format!("polis.toml, line {line}: ");
        assert!(message.starts_with(&begins), "{text:?}: {message}");
        assert!(message.contains(word), "{text:?}: {message}");
    }
}

#[test]
fn sizes_read_as_people_write_them() {
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
