//! Readers that have seen enough: `redrive … | head`.

use std::io::{BufRead, BufReader, pipe};
use std::process::Stdio;

use crate::process::redrive;
use crate::running::{ask, server_file};

/// How it ends when nobody reads what it says, and its messages.
fn unread(args: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let output = redrive(args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn whoever_reads_no_further_ends_a_command_without_a_word() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    for args in [
        &["openapi"][..],
        &["completions", "bash"],
        &["man"],
        &["explain", "GW_TIMEOUT"],
        &["config", "show"],
        &["migrate", "--data-dir", data],
        &["doctor", "--data-dir", data],
        &["doctor", "--json", "--data-dir", data],
    ] {
        assert_eq!(unread(args), (Some(0), String::new()), "{args:?}");
    }
}

#[test]
fn a_message_that_nobody_reads_changes_nothing() {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let nowhere = tempfile::tempdir().unwrap();
    let args = ["jobs", "list", "--data-dir", nowhere.path().to_str().unwrap()];
    let status = redrive(&args).stdout(Stdio::null()).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(6));
}

#[test]
fn a_server_whose_first_line_alone_is_read_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data];
    let mut serving = redrive(&args);
    serving.env("METRICS_LISTEN", "127.0.0.1:0").stdout(writer).stderr(Stdio::piped());
    let mut serving = serving.spawn().unwrap();
    let mut log = BufReader::new(serving.stderr.take().unwrap()).lines();
    // Its first line is written before anybody can know where it is.
    let url = server_file(dir.path())["url"].as_str().unwrap().to_owned();
    let address = url.strip_prefix("http://").unwrap().to_owned();
    let answer = ask(&address, "GET", "/healthz", &[], b"");
    assert_eq!(answer.status, 200);
    let pid = serving.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    assert!(!log.any(|line| line.unwrap().contains("panicked")));
}
