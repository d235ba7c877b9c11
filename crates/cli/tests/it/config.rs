//! Settings from outside: where they come from, what is said when they are wrong, and what is never said.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::process::redrive;

fn run_in(folder: &Path, args: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        redrive(args).current_dir(folder).envs(environment.iter().copied()).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// The line of a setting in `config show`.
fn line(shown: &str, name: &str) -> String {
    let line = shown.lines().find(|line| line.split_whitespace().next() == Some(name));
    line.unwrap_or_else(|| panic!("{name} in {shown}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn flags_win_over_the_environment_over_the_file_over_defaults_and_each_says_where_it_came_from() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("redrive.toml"),
        "listen = '127.0.0.1:1'\nretry_max_attempts = 7\ncircuit_window = 9\n",
    )
    .unwrap();
    let environment = [("LISTEN", "127.0.0.1:2"), ("RETRY_MAX_ATTEMPTS", "8"), ("PDF_TTL_DAYS", "")];
    let (code, shown, said) =
        run_in(folder.path(), &["config", "show", "--listen", "127.0.0.1:3"], &environment);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(line(&shown, "LISTEN"), "LISTEN 127.0.0.1:3 flag");
    assert_eq!(line(&shown, "RETRY_MAX_ATTEMPTS"), "RETRY_MAX_ATTEMPTS 8 env");
    assert_eq!(line(&shown, "CIRCUIT_WINDOW"), "CIRCUIT_WINDOW 9 redrive.toml line 3");
    assert_eq!(line(&shown, "PDF_TTL_DAYS"), "PDF_TTL_DAYS 7 default");
    assert_eq!(line(&shown, "GATEWAY_URL"), "GATEWAY_URL - default");
}

#[test]
fn secrets_are_masked_wherever_values_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let environment = [
        ("OPERATOR_TOKEN", "canary-1"),
        ("AWS_SECRET_ACCESS_KEY", "canary-2"),
        ("DATABASE_URL", "postgres://who:canary-3@db/jobs"),
        ("GATEWAY_URL", "ftp://who:canary-4@gw"),
        ("SMTP_URL", "smtps://who:canary-5@mail.example"),
    ];
    for args in [&["config", "show"][..], &["config", "show", "--json"], &["config", "check"], &["migrate"]] {
        let (_, shown, said) = run_in(folder.path(), args, &environment);
        assert!(!shown.contains("canary") && !said.contains("canary"), "{args:?}: {shown}{said}");
    }
    let (code, shown, said) = run_in(folder.path(), &["config", "show"], &environment);
    assert_eq!(code, Some(2));
    assert!(said.contains("GATEWAY_URL is ") && said.contains("must be a URL"), "{said}");
    assert_eq!(line(&shown, "OPERATOR_TOKEN"), "OPERATOR_TOKEN ******** env");
    assert!(line(&shown, "DATABASE_URL").contains("db/jobs"), "{shown}");
}

#[test]
fn settings_are_shown_also_when_the_database_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.db"), "no database").unwrap();
    for url in ["sqlite:x.db", "postgres://who:canary@127.0.0.1:1/jobs"] {
        let (code, shown, said) = run_in(folder.path(), &["config", "show"], &[("DATABASE_URL", url)]);
        assert_eq!((code, said.lines().count()), (Some(0), 1), "{said}");
        assert!(said.contains("the database cannot be read") && !said.contains("canary"), "{said}");
        assert_eq!(line(&shown, "INTAKE_MAX_RETRIES"), "INTAKE_MAX_RETRIES 3 default");
    }
}

#[test]
fn every_line_of_json_has_the_same_fields() {
    let folder = tempfile::tempdir().unwrap();
    let (_, shown, _) = run_in(folder.path(), &["config", "show", "--json"], &[]);
    assert!(shown.lines().count() > 40);
    for line in shown.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        for field in ["name", "value", "origin", "at", "default", "secret", "used", "about"] {
            assert!(value.get(field).is_some(), "{field} in {line}");
        }
    }
}

#[test]
fn an_unknown_key_is_an_error_with_its_line_and_a_suggestion_for_every_command_with_settings() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("redrive.toml"), "\nretry_max_attempt = 5\n").unwrap();
    let wanted = "redrive: redrive.toml line 2: \"retry_max_attempt\" is no setting; did you mean retry_max_attempts?\n";
    for args in [&["config", "check"][..], &["migrate"], &["serve"], &["gateway"]] {
        let (code, _, said) = run_in(folder.path(), args, &[]);
        assert_eq!((code, said.as_str()), (Some(2), wanted), "{args:?}");
    }
    assert!(!folder.path().join("redrive-data").exists(), "nothing was begun");
}

#[test]
fn check_says_everything_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let environment = [("LISTEN", "here"), ("CIRCUIT_MODE", "hodl"), ("GATEWAY_TIMEOUT_MS", "0")];
    let (code, _, said) = run_in(folder.path(), &["config", "check"], &environment);
    assert_eq!((code, said.lines().count()), (Some(2), 3), "{said}");
    assert!(
        said.contains(
            "CIRCUIT_MODE is \"hodl\" (from the environment), but it must be one of hold, fail_fast"
        )
    );
    assert!(said.lines().all(|line| line.starts_with("redrive: ")), "{said}");
}

#[test]
fn a_setting_that_a_command_does_not_use_does_not_stop_it() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, said) = run_in(folder.path(), &["migrate"], &[("LISTEN", "here")]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn init_writes_a_file_that_check_likes_and_never_overwrites_one() {
    let folder = tempfile::tempdir().unwrap();
    let (code, said, _) = run_in(folder.path(), &["config", "init"], &[]);
    assert_eq!((code, said.as_str()), (Some(0), "wrote redrive.toml: every setting, commented out\n"));
    assert_eq!(run_in(folder.path(), &["config", "check"], &[]).0, Some(0));
    let text = fs::read_to_string(folder.path().join("redrive.toml")).unwrap();
    let (code, _, said) = run_in(folder.path(), &["config", "init"], &[]);
    assert_eq!((code, said.lines().count()), (Some(5), 1), "{said}");
    assert_eq!(fs::read_to_string(folder.path().join("redrive.toml")).unwrap(), text);
    // Every line can be brought to life by removing its mark.
    let alive: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("# ").filter(|l| l.contains(" = ") || l.starts_with('[')))
        .map(|l| format!("{l}\n"))
        .collect();
    fs::write(folder.path().join("alive.toml"), alive).unwrap();
    let (code, said, wrong) = run_in(folder.path(), &["config", "check", "--config", "alive.toml"], &[]);
    assert_eq!(code, Some(0), "{said}{wrong}");
}

#[test]
fn a_named_file_is_read_and_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), "circuit_window = 11\n").unwrap();
    let (_, shown, _) = run_in(folder.path(), &["config", "show"], &[("REDRIVE_CONFIG", "mine.toml")]);
    assert_eq!(line(&shown, "CIRCUIT_WINDOW"), "CIRCUIT_WINDOW 11 mine.toml line 1");
    let (code, _, said) = run_in(folder.path(), &["config", "check", "--config", "gone.toml"], &[]);
    assert_eq!(code, Some(2));
    assert!(said.contains("gone.toml"), "{said}");
}

#[test]
fn what_is_nearly_ours_or_not_used_yet_is_warned_about_and_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let environment = [("RETRY_MAX_ATTEMPT", "5"), ("WEBHOOK_SECRET", "canary")];
    let (code, _, said) = run_in(folder.path(), &["config", "check"], &environment);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("did you mean RETRY_MAX_ATTEMPTS?")
            && said.contains("WEBHOOK_SECRET (env) is not used yet"),
        "{said}"
    );
    let (code, _, said) = run_in(folder.path(), &["migrate"], &environment);
    assert_eq!(code, Some(0));
    let first: serde_json::Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!(first["level"], "WARN", "{said}");
    assert!(!said.contains("canary"));
}
