//! `redrive dead` against a server.

use std::path::Path;

use redrive_fetch::wire::{DeadLetterTask, Message};
use serde_json::Value;

use crate::jobs::ask;
use crate::process::redrive;
use crate::running::{Running, wait_for};

/// A server on which so many files could not be converted.
pub(crate) fn with_dead(data: &Path, n: u32) -> Running {
    let server = Running::serve(data, &[]);
    for n in 0..n {
        let file = format!("%PDF-1.7\nnothing {n}\ntrailer\n");
        let id = server.upload(data, &format!("broken-{n}.pdf"), file.as_bytes()).job();
        wait_for("the end of a job", || {
            let job = server.operate(data, "GET", &format!("/api/jobs/{id}")).json();
            (job["status"] == "failed").then_some(())
        });
    }
    server
}

#[test]
fn dead_letters_are_listed_shown_and_written_out() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = with_dead(data, 3);
    let (code, out, said) = ask(data, &["dead", "list"]);
    assert_eq!((code, out.lines().count()), (Some(0), 3), "{out}{said}");
    assert!(out.lines().next().unwrap().contains("broken-2.pdf") && out.contains("GW_4XX"), "{out}");
    let (_, out, _) = ask(data, &["dead", "list", "--json", "--limit", "2", "--code", "GW_4XX"]);
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2);
    let offset = rows[0]["offset"].to_string();
    let (code, out, _) = ask(data, &["dead", "show", &offset]);
    assert!(code == Some(0) && out.contains("resource   broken-2.pdf"), "{out}");
    let (_, out, _) = ask(data, &["dead", "show", "--json", &offset]);
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), rows[0]);
    let (code, out, _) = ask(data, &["dead", "export"]);
    let all: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((code, all.len(), &all[2]), (Some(0), 3, &rows[0]), "{out}");
    let file = data.join("letters.bin");
    let (code, out, said) =
        ask(data, &["dead", "export", "--format", "protobuf", "--out", file.to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{said}");
    let bytes = std::fs::read(file).unwrap();
    let (mut rest, mut read) = (bytes.as_slice(), Vec::new());
    while !rest.is_empty() {
        read.push(DeadLetterTask::decode_length_delimited(&mut rest).unwrap());
    }
    let names: Vec<String> = read.into_iter().map(|sent| sent.task.unwrap().resource_id).collect();
    assert_eq!(names, ["broken-0.pdf", "broken-1.pdf", "broken-2.pdf"]);
    let (code, out, _) = ask(data, &["dead", "list", "--workload", "fetch"]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    server.stop();
}

#[test]
fn exit_codes_tell_what_was_wrong_with_the_question() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let (code, _, said) = ask(data, &["dead", "list"]);
    assert!(code == Some(6) && said.contains("redrive serve"), "{code:?} {said}");
    let server = with_dead(data, 1);
    for (args, exit) in [
        (&["dead", "show", "999999"][..], 3),
        (&["dead", "show", "x"], 3),
        (&["dead", "list", "--state", "lost"], 2),
        (&["dead", "list", "--code", "NOPE"], 2),
        (&["dead", "export", "--since", "monday"], 2),
        (&["dead", "export", "--format", "xml"], 2),
        (&["dead", "export", "--out", "/nowhere/at/all"], 1),
        (&["dead"], 2),
    ] {
        let (code, out, said) = ask(data, args);
        assert_eq!((code, out.as_str()), (Some(exit), ""), "{args:?}: {said}");
        assert!(!said.is_empty(), "{args:?}");
    }
    let url = format!("http://{}", server.address());
    let stranger =
        redrive(&["dead", "list", "--redrive-url", &url, "--data-dir", "/nonexistent"]).output().unwrap();
    assert_eq!(stranger.status.code(), Some(4), "{stranger:?}");
    server.stop();
}
