use crate::process::run;

#[test]
fn explain_says_what_a_code_means() {
    let out = run(&["explain", "gw_timeout"]);
    assert_eq!(out.status.code(), Some(0));
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        text.contains("Conversion is taking too long.") && text.contains("docs/failures/GW_TIMEOUT.md"),
        "{text}"
    );
}

#[test]
fn an_unknown_code_gets_a_suggestion_and_exit_3() {
    let out = run(&["explain", "TIMEOUT"]);
    assert_eq!(out.status.code(), Some(3));
    assert!(String::from_utf8(out.stderr).unwrap().contains("GW_TIMEOUT"));
}

#[test]
fn a_wrong_call_is_exit_2_and_a_wrong_setting_one_line() {
    assert_eq!(run(&["explain"]).status.code(), Some(2));
    assert_eq!(run(&["dance"]).status.code(), Some(2));
    let out = run(&["migrate", "--database-url", "mysql://x"]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(String::from_utf8(out.stderr).unwrap().lines().count(), 1);
}

#[test]
fn migrate_can_be_repeated() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let out = run(&["migrate", "--data-dir", dir.path().to_str().unwrap()]);
        assert_eq!(out.status.code(), Some(0), "{out:?}");
    }
}
