//! `redrive jobs` and `redrive explain` against a server.

use std::collections::BTreeMap;
use std::path::Path;

use redrive_gateway::sample::hello;

use crate::process::redrive;
use crate::running::{Running, server_file, wait_for};

pub(crate) fn ask(data: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let args = [args, &["--data-dir", data.to_str().unwrap()]].concat();
    let output = redrive(&args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A server with a job that is done and one that was refused.
fn served(data: &Path) -> (Running, String, String) {
    let server = Running::serve(data, &[]);
    let done = server.upload(data, "good.pdf", &hello()).job();
    let broken = server.upload(data, "broken.pdf", b"%PDF-1.7\nnothing\ntrailer\n").job();
    for id in [&done, &broken] {
        wait_for("the end of a job", || {
            let job = server.operate(data, "GET", &format!("/api/jobs/{id}")).json();
            (!job["finished_at"].is_null()).then_some(())
        });
    }
    (server, done, broken)
}

#[test]
fn jobs_are_listed_shown_explained_retried_and_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let (server, done, broken) = served(data);
    let (code, out, said) = ask(data, &["jobs", "list"]);
    assert_eq!((code, out.lines().count()), (Some(0), 2), "{out}{said}");
    assert!(out.contains("broken.pdf  GW_4XX") && out.contains(&done), "{out}");
    for json in [&[][..], &["--json"]] {
        let (code, out, said) = ask(data, &[&["jobs", "list", "--limit", "1"], json].concat());
        assert_eq!((code, out.lines().count()), (Some(0), 1), "{out}");
        assert_eq!(said, "redrive: 1 shown, and there are more: a larger --limit shows them\n");
    }
    let (code, _, said) = ask(data, &["jobs", "list", "--limit", "2", "--since", "1h"]);
    assert_eq!((code, said.as_str()), (Some(0), ""), "that was all");
    let (_, out, _) = ask(data, &["jobs", "list", "--json", "--status", "failed", "--limit", "1"]);
    let row: serde_json::Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!((row["id"].as_str(), row["status"].as_str()), (Some(broken.as_str()), Some("failed")));
    for several in [&["--status", "failed,complete"][..], &["--status", "complete", "--status", "failed"]] {
        let (_, out, _) = ask(data, &[&["jobs", "list"], several].concat());
        assert_eq!(out.lines().count(), 2, "{out}");
    }
    let (_, out, _) = ask(data, &["jobs", "list", "--status", "held,complete"]);
    assert!(out.lines().count() == 1 && out.contains(&done), "{out}");
    let (code, _, said) = ask(data, &["jobs", "list", "--status", "failed,lost"]);
    assert!(code == Some(2) && said.contains("is no state of a job"), "{code:?} {said}");
    let (_, out, _) = ask(data, &["jobs", "list", "--json", "--search", "good"]);
    assert_eq!(out.lines().count(), 1, "{out}");
    let (code, out, _) = ask(data, &["jobs", "show", &broken]);
    assert_eq!(code, Some(0));
    assert!(out.contains("failure    GW_4XX: Couldn’t convert this file"), "{out}");
    let (_, out, _) = ask(data, &["jobs", "show", "--json", &done]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap()["can_download"], true);
    let (code, out, _) = ask(data, &["explain", &broken]);
    assert_eq!(code, Some(0));
    assert!(out.contains("what you can do:  Try another mapping") && out.contains("attempt 1:"), "{out}");
    let (code, out, said) = ask(data, &["jobs", "retry", &broken]);
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains(&broken), "{out}");
    let (code, out, said) = ask(data, &["jobs", "watch", &broken, &done]);
    assert_eq!(code, Some(7), "{out}{said}");
    let (code, _, said) = ask(data, &["jobs", "retry", &done]);
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("CONFLICT_STATE"), "{said}");
    let (code, _, said) = ask(data, &["jobs", "cancel", &done]);
    assert_eq!((code, said.lines().count()), (Some(5), 1), "{said}");
    let nobody = "01890000-0000-7000-8000-000000000000";
    for args in [&["jobs", "show", nobody][..], &["explain", nobody], &["jobs", "cancel", nobody]] {
        let (code, _, said) = ask(data, args);
        assert_eq!((code, said.lines().count()), (Some(3), 1), "{args:?}: {said}");
    }
    for verb in ["show", "watch", "retry", "cancel"] {
        for nothing in ["..", "."] {
            let (code, out, said) = ask(data, &["jobs", verb, nothing]);
            assert_eq!((code, out.as_str()), (Some(3), ""), "{verb} {nothing}: {said}");
        }
    }
    let (code, out, _) = ask(data, &["jobs", "show", nobody, &done]);
    assert_eq!(code, Some(3));
    assert!(out.contains(&done), "the others are shown all the same: {out}");
    drop(server);
}

#[test]
fn without_a_token_there_are_only_ones_own_jobs_and_without_a_server_there_is_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let (server, done, _) = served(dir.path());
    let url = server_file(dir.path())["url"].as_str().unwrap().to_owned();
    let elsewhere = tempfile::tempdir().unwrap();
    let (code, _, said) = ask(elsewhere.path(), &["jobs", "show", &done, "--redrive-url", &url]);
    assert_eq!(code, Some(4), "{said}");
    let (code, out, _) = ask(elsewhere.path(), &["jobs", "list", "--server", &url]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    let (code, _, said) = ask(elsewhere.path(), &["jobs", "list"]);
    assert_eq!((code, said.lines().count()), (Some(6), 1), "{said}");
    assert!(said.contains("redrive serve"), "{said}");
    drop(server);
    let (code, _, said) = ask(dir.path(), &["jobs", "list"]);
    assert_eq!((code, said.lines().count()), (Some(6), 1), "{said}");
    let token = std::fs::read_to_string(dir.path().join("server.json")).unwrap();
    let token: serde_json::Value = serde_json::from_str(&token).unwrap();
    assert!(!said.contains(token["token"].as_str().unwrap()) && !said.contains("http://"), "{said}");
}

#[test]
fn what_no_list_can_be_cut_by_is_refused_before_anybody_is_asked() {
    let nowhere = tempfile::tempdir().unwrap();
    for (since, limit) in [("monday", "1"), ("7x", "1"), ("99999999d", "1"), ("7d", "0"), ("7d", "many")] {
        let args = ["jobs", "list", "--since", since, "--limit", limit];
        let (code, out, said) = ask(nowhere.path(), &args);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}: {said}");
        assert!(said.contains(if since == "7d" { "--limit" } else { "--since" }), "{said}");
    }
    for command in [&["dead", "list"][..], &["dead", "export"], &["dead", "replay", "--dry-run"]] {
        let (code, _, said) = ask(nowhere.path(), &[command, &["--until", "2026-02-30"]].concat());
        assert!(code == Some(2) && said.contains("--until") && said.contains("2026-01-31"), "{said}");
    }
}

#[test]
fn watch_goes_on_when_the_server_was_started_again() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = Running::serve(data, &[]);
    let done = server.upload(data, "done.pdf", &hello()).job();
    assert_eq!(ask(data, &["jobs", "watch", &done]).0, Some(0));
    assert_eq!(ask(data, &["breakers", "hold", "gateway"]).0, Some(0));
    let held = server.upload(data, "held.pdf", &[&hello()[..], b"\n% held"].concat()).job();
    let args = ["jobs", "watch", &held, &done, &held, "--data-dir", data.to_str().unwrap()];
    let mut watching = Running::start(&args, &[]);
    // What ended before is told when it has begun to listen.
    watching.said(&done);
    server.stop();
    wait_for("the loss of the server", || watching.err().contains("waiting for it").then_some(()));
    let server = Running::serve(data, &[]);
    assert_eq!(ask(data, &["breakers", "release", "gateway"]).0, Some(0));
    assert_eq!(watching.ended(), Some(0), "{}{}", watching.out(), watching.err());
    let told = watching.out().lines().filter(|line| line.contains(&held)).count();
    assert!(told >= 1 && watching.out().contains("complete"), "{}", watching.out());
    assert_eq!(watching.err().lines().count(), 2, "gone, and back again: {}", watching.err());
    server.stop();
}

#[test]
fn watch_follows_what_happens() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = Running::serve(data, &[]);
    let _ = server_file(data);
    let watching = Running::start(&["jobs", "watch", "--json", "--data-dir", data.to_str().unwrap()], &[]);
    // It has begun to listen when it tells of a job that came later.
    let mut n = 0;
    let told = wait_for("an event", || {
        n += 1;
        let pdf = redrive_gateway::sample::page(&format!("BT /F1 12 Tf 72 700 Td (watched {n}) Tj ET"));
        server.upload(data, "seen.pdf", &pdf);
        watching.out().lines().find(|line| line.contains("\"complete\"")).map(str::to_owned)
    });
    let event: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert!(event["sequence"].is_number() && event["job_id"].is_string(), "{event}");
    watching.signal("-INT");
    let mut watching = watching;
    assert_eq!(watching.ended(), Some(130));
}

#[test]
fn what_is_made_from_the_program_itself_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = redrive(args).current_dir(dir.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let document: serde_json::Value = serde_json::from_str(&run(&["openapi"])).unwrap();
    assert!(document["paths"]["/api/upload"].is_object());
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&["completions", shell]).contains("redrive"), "{shell}");
    }
    let manual = run(&["man"]);
    assert!(manual.starts_with(".ie") && manual.contains(".TH redrive 1"), "{}", &manual[..200]);
    let headings = manual.lines().filter(|line| line.starts_with(".TH ")).count();
    run(&["man", "--out", "pages"]);
    let pages: BTreeMap<String, String> = std::fs::read_dir(dir.path().join("pages"))
        .unwrap()
        .map(|page| page.unwrap())
        .map(|page| (page.file_name().into_string().unwrap(), std::fs::read_to_string(page.path()).unwrap()))
        .collect();
    assert_eq!(pages.len(), headings, "{:?}", pages.keys());
    // Each page that another one names is there.
    let mut named = 0;
    for (name, text) in &pages {
        for word in
            text.split_whitespace().filter(|word| word.starts_with("redrive\\-") && word.ends_with("(1)"))
        {
            let file = word.replace("\\-", "-").replace("(1)", ".1");
            assert!(pages.contains_key(&file), "{name} names {word}: {:?}", pages.keys());
            named += 1;
        }
    }
    assert_eq!(named + 1, headings, "every page but the first is named by one");
    let entry: serde_json::Value = serde_json::from_str(&run(&["explain", "gw_timeout", "--json"])).unwrap();
    assert_eq!(entry["code"], "GW_TIMEOUT");
}
