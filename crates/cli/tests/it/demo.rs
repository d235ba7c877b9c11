//! `redrive demo`: what is promised to be seen is there, and nothing stays behind.

use std::path::Path;

use serde_json::Value;

use crate::process::run;
use crate::running::{Running, wait_for};

/// So many times as fast as people see it: one round takes twenty seconds.
const SPEED: &str = "3";

fn gateway(demo: &Running, data: &Path) -> Option<String> {
    let list = demo.operate(data, "GET", "/api/breakers").json();
    let gateway = list["breakers"].as_array()?.iter().find(|one| one["target"] == "gateway")?;
    gateway["state"].as_str().map(str::to_owned)
}

/// What a list has, as soon as this holds for one of its rows.
fn appears(demo: &Running, data: &Path, (path, list): (&str, &str), like: impl Fn(&Value) -> bool) -> Value {
    wait_for(&format!("{path} shows it"), || {
        let answer = demo.operate(data, "GET", path).json();
        answer[list].as_array()?.iter().find(|row| like(row)).cloned()
    })
}

#[test]
fn within_a_round_the_breaker_opens_and_closes_groups_fill_and_a_replay_runs() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("demo");
    let demo = Running::start(&["demo", "--data-dir", data.to_str().unwrap(), "--speed", SPEED], &[]);
    assert!(demo.said("sign in").contains("/sign-in?code="));
    wait_for("the breaker opens", || (gateway(&demo, &data)? == "open").then_some(()));
    wait_for("the breaker closes", || (gateway(&demo, &data)? == "closed").then_some(()));
    for code in ["PARSE_ERROR", "GW_UNSUPPORTED_ENCRYPTION", "GW_UNAUTHORIZED", "DOWNLOAD_HTTP_4XX"] {
        appears(&demo, &data, ("/api/groups", "groups"), |group| {
            group["code"] == code && group["failures"].as_u64() > Some(0)
        });
    }
    let replay = appears(&demo, &data, ("/api/replays", "replays"), |replay| {
        replay["phase"] == "done" && replay["complete"].as_u64() > Some(0)
    });
    assert_eq!((replay["canary"].as_u64(), replay["failed"].as_u64()), (Some(2), Some(0)), "{replay}");
    for stage in ["done", "failed"] {
        wait_for("the office has documents there", || {
            let intake = demo.operate(&data, "GET", "/api/intake/documents").json();
            intake["documents"].as_array()?.iter().find(|one| one["stage"] == stage).map(drop)
        });
    }
    appears(&demo, &data, ("/api/fetch", "batches"), |batch| {
        batch["resources_completed"].as_u64() > Some(0) && batch["resources_failed"].as_u64() > Some(0)
    });
    let owners = demo.operate(&data, "GET", "/api/jobs?workload=convert&limit=200").json();
    let owners = owners["jobs"].as_array().unwrap().iter().filter_map(|job| job["owner"].as_str());
    assert_eq!(owners.collect::<std::collections::HashSet<_>>().len(), 3);
    let out = demo.out();
    for words in ["the gateway goes down", "the breaker opens", "the breaker is closed", "a replay of"] {
        assert!(out.contains(words), "{words:?}: {out}");
    }
    assert_eq!(demo.stop(), Some(0));
    assert!(data.join("redrive.db").exists(), "a folder that was named stays");
}

#[test]
fn a_demo_knows_no_setting_of_this_machine_and_leaves_nothing_behind() {
    let elsewhere =
        [("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none"), ("GATEWAY_URL", "http://127.0.0.1:1")];
    let demo = Running::start(&["demo"], &elsewhere);
    let data = demo.said("data ");
    assert!(demo.said("store ").starts_with("SQLite"));
    assert!(Path::new(&data).is_dir());
    assert_eq!(demo.stop(), Some(0));
    assert!(!Path::new(&data).exists());
}

#[test]
fn a_demo_takes_no_folder_of_somebodys_and_no_visitors_from_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine"), "").unwrap();
    let output = run(&["demo", "--data", dir.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let output = run(&["demo", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
