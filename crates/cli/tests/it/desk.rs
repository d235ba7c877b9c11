//! What operators do from the command line beside looking: dead letters, replays, groups, targets, workers, a policy that is tried.

use std::path::Path;

use serde_json::{Value, json};

use crate::dead::with_dead;
use crate::jobs::ask;
use crate::running::{Running, wait_for};

/// The objects that a command prints with `--json`.
fn objects(data: &Path, args: &[&str]) -> Vec<Value> {
    let (code, out, said) = ask(data, &[args, &["--json"]].concat());
    assert_eq!(code, Some(0), "{args:?}: {said}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The lines of a table that must fit on a narrow terminal.
fn table(data: &Path, args: &[&str]) -> Vec<String> {
    let (code, out, said) = ask(data, args);
    assert_eq!(code, Some(0), "{args:?}: {said}");
    for line in out.lines() {
        assert!(line.chars().count() <= 80, "{args:?}: {line:?}");
    }
    out.lines().map(str::to_owned).collect()
}

/// What must be refused, with which code, and what is said about it.
fn refused(data: &Path, args: &[&str], exit: i32, words: &str) {
    let (code, out, said) = ask(data, args);
    assert_eq!((code, out.as_str()), (Some(exit), ""), "{args:?}: {said}");
    assert!(said.contains(words), "{args:?}: {said}");
}

fn acts(server: &Running, data: &Path) -> Vec<Value> {
    server.operate(data, "GET", "/api/audit").json()["acts"].as_array().unwrap().clone()
}

#[test]
fn many_dead_letters_are_counted_first_and_started_again_only_when_it_is_meant() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = with_dead(data, 3);
    refused(data, &["dead", "replay"], 2, "--all");
    refused(data, &["dead", "replay", "1", "--all"], 2, "--all");
    let counted = objects(data, &["dead", "replay", "--all", "--dry-run"]);
    assert_eq!(counted, [json!({"workload": "convert", "matching": 3})]);
    assert_eq!(table(data, &["dead", "replay", "--code", "gw_4xx", "--dry-run"]), ["       3  convert"]);
    assert!(objects(data, &["dead", "replay", "--code", "GW_5XX", "--dry-run"]).is_empty());
    let group = objects(data, &["groups", "list"])[0]["fingerprint"].as_str().unwrap().to_owned();
    // Nobody is at a terminal here.
    refused(data, &["dead", "replay", "--group", &group], 2, "3 open dead letters of convert match");
    refused(data, &["dead", "replay", "--group", &group], 2, "--yes");
    refused(data, &["dead", "replay", "--code", "GW_5XX", "--yes"], 3, "no open dead letter matches");
    refused(data, &["dead", "replay", "--group", "0123456789abcdef", "--yes"], 3, "NOT_FOUND");
    refused(data, &["dead", "replay", "--all", "--yes", "--stop-share", "2"], 2, "stop_at_failure_share");
    assert!(objects(data, &["replays", "list"]).is_empty(), "nothing was started");

    let how = ["--canary", "0", "--rate", "50", "--stop-share", "1", "--name", "again", "--reason", "mended"];
    let (code, out, said) = ask(data, &[&["dead", "replay", "--group", &group, "--yes"][..], &how].concat());
    assert_eq!((code, out.lines().count()), (Some(0), 1), "{said}");
    assert!(said.contains("3 open dead letters of convert match"), "{said}");
    let id = out.split_whitespace().next().unwrap().to_owned();
    let ended = wait_for("the end of the replay", || {
        let replay = objects(data, &["replays", "show", &id]).remove(0);
        (replay["phase"] == "done").then_some(replay)
    });
    assert_eq!((&ended["total"], &ended["failed"], &ended["canary"]), (&3.into(), &3.into(), &0.into()));
    assert_eq!((&ended["rate_per_sec"], &ended["name"]), (&50.into(), &"again".into()));
    let rows = table(data, &["replays", "list", "--workload", "convert"]);
    assert!(rows.len() == 1 && rows[0].contains("3 of 3 ended, 3 failed"), "{rows:?}");
    let (code, out, _) = ask(data, &["replays", "show", &id]);
    assert!(code == Some(0) && out.lines().any(|line| line == "reason     mended"), "{out}");
    for act in ["pause", "resume", "cancel"] {
        refused(data, &["replays", act, &id], 5, "has ended already");
        refused(data, &["replays", act, "0"], 3, "no such replay");
    }
    let started = acts(&server, data).into_iter().find(|act| act["action"] == "replay.start").unwrap();
    assert_eq!(started["reason"], "mended", "{started}");
    server.stop();
}

#[test]
fn many_dead_letters_are_discarded_only_when_it_is_meant_and_after_a_count() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = with_dead(data, 3);
    refused(data, &["dead", "discard"], 2, "--all");
    let letters = objects(data, &["dead", "list"]);
    let offset = letters[0]["offset"].to_string();
    refused(data, &["dead", "discard", &offset, "--all"], 2, "--all");
    let group = letters[0]["group"].as_str().unwrap();
    let counted = objects(data, &["dead", "discard", "--group", group, "--dry-run"]);
    assert_eq!(counted, [json!({"matching": 3})]);
    assert_eq!(objects(data, &["dead", "discard", "--all", "--dry-run"]), counted);
    assert_eq!(
        table(data, &["dead", "discard", "--code", "GW_5XX", "--dry-run"]),
        ["0 dead letters would be discarded"]
    );
    // Nobody is at a terminal here.
    refused(data, &["dead", "discard", "--group", group], 2, "3 dead letters match");
    refused(data, &["dead", "discard", "--group", group], 2, "--yes");
    refused(data, &["dead", "discard", "--code", "GW_5XX", "--yes"], 3, "no open dead letter matches");
    refused(data, &["dead", "discard", "--group", "xyz", "--yes"], 2, "filter.group");
    assert_eq!(objects(data, &["dead", "list"]), letters, "nothing was changed");
    let rows = table(data, &["dead", "discard", "--group", group, "--yes", "--reason", "rubbish"]);
    assert_eq!(rows, ["3 dead letters discarded"]);
    assert!(objects(data, &["dead", "list"]).is_empty());
    assert_eq!(objects(data, &["dead", "list", "--state", "discarded"]).len(), 3);
    let act = acts(&server, data).into_iter().find(|act| act["action"] == "dead.discard").unwrap();
    assert_eq!(
        (&act["reason"], &act["before"], &act["after"]),
        (&"rubbish".into(), &"3 open".into(), &"0 open".into())
    );
    server.stop();
}

/// One that is not there and one that somebody has acted on stop nobody; what cannot be meant together is no question.
#[test]
fn of_several_dead_letters_each_is_told_and_the_worst_is_the_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = with_dead(data, 3);
    let letters = objects(data, &["dead", "list"]);
    let offset = |n: usize| letters[n]["offset"].to_string();
    for how in
        [&["--canary", "1"], &["--rate", "1"], &["--stop-share", "1"], &["--name", "x"], &["--code", "x"]]
    {
        refused(data, &[&["dead", "replay", &offset(0)][..], how].concat(), 2, how[0]);
    }
    let (code, out, said) = ask(data, &["dead", "discard", "999999", &offset(0), "--json"]);
    assert_eq!((code, out.lines().count()), (Some(3), 1), "{said}");
    let asked = ["dead", "replay", "999999", &offset(0), &offset(1), "999998", &offset(2), "--json"];
    let (code, out, said) = ask(data, &asked);
    assert_eq!((code, out.lines().count()), (Some(5), 2), "the others were started: {said}");
    for told in ["999999: ", "999998: ", &format!("{}: ", offset(0))] {
        assert!(said.lines().any(|line| line.starts_with(&format!("redrive: {told}"))), "{told} {said}");
    }
    server.stop();
}

#[test]
fn a_replay_is_paused_resumed_and_ended() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = with_dead(data, 4);
    // One at a time, and so slowly that it is still there when it is asked.
    let (code, out, said) =
        ask(data, &["dead", "replay", "--all", "--yes", "--canary", "0", "--rate", "1", "--stop-share", "1"]);
    assert_eq!(code, Some(0), "{said}");
    let id = out.split_whitespace().next().unwrap().to_owned();
    let paused = objects(data, &["replays", "pause", &id, "--reason", "lunch"]).remove(0);
    assert_eq!(paused["paused"], true);
    assert!(table(data, &["replays", "list"])[0].contains("  paused  "));
    refused(data, &["dead", "replay", "--all", "--yes"], 5, &format!("Replay {id} of convert goes on"));
    assert_eq!(objects(data, &["replays", "show", &id])[0]["paused"], true, "the refused one let it go");
    assert_eq!(objects(data, &["replays", "resume", &id])[0]["paused"], false);
    assert!(table(data, &["replays", "cancel", &id])[0].contains("  cancelled  "));
    server.stop();
}

#[test]
fn single_dead_letters_are_started_again_or_not_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = with_dead(data, 2);
    assert_eq!(table(data, &["dead", "list"]).len(), 2);
    let letters = objects(data, &["dead", "list"]);
    let offset = |n: usize| letters[n]["offset"].to_string();
    for verb in ["replay", "discard"] {
        assert_eq!(objects(data, &["dead", verb, &offset(0), "--dry-run"]), [letters[0].clone()]);
    }
    assert_eq!(objects(data, &["dead", "list"]), letters, "nothing was changed");
    let job = objects(data, &["dead", "replay", &offset(0), "--reason", "again"]).remove(0);
    assert_eq!((&job["id"], &job["generation"]), (&letters[0]["job_id"], &2.into()));
    let discarded = objects(data, &["dead", "discard", &offset(1), "--reason", "rubbish"]).remove(0);
    assert_eq!((&discarded["offset"], &discarded["state"]), (&letters[1]["offset"], &"discarded".into()));
    for verb in ["replay", "discard"] {
        refused(data, &["dead", verb, &offset(1)], 5, "CONFLICT_STATE");
        refused(data, &["dead", verb, "999999"], 3, "Check the id");
    }
    let acts = acts(&server, data);
    let why = |action: &str| acts.iter().find(|act| act["action"] == action).unwrap()["reason"].clone();
    assert_eq!((why("jobs.retry"), why("dead.discard")), ("again".into(), "rubbish".into()));
    server.stop();
}

#[test]
fn groups_are_listed_acknowledged_and_resolved() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = with_dead(data, 2);
    let rows = table(data, &["groups", "list", "--state", "new"]);
    assert!(
        rows.len() == 1 && rows[0].contains("2 open") && rows[0].contains("  new       convert "),
        "{rows:?}"
    );
    let (group, _) = rows[0].split_once(' ').unwrap();
    let (code, out, _) = ask(data, &["groups", "show", group]);
    assert!(code == Some(0) && out.lines().any(|line| line == "failures   2"), "{out}");
    let one = objects(data, &["groups", "ack", group, "--reason", "looking"]).remove(0);
    assert_eq!(one["state"], "acknowledged");
    refused(data, &["groups", "ack", group], 5, "CONFLICT_STATE");
    assert!(table(data, &["groups", "resolve", group])[0].contains("  resolved  convert "));
    assert!(objects(data, &["groups", "list", "--state", "new"]).is_empty());
    refused(data, &["groups", "show", "0123456789abcdef"], 3, "no such failure group");
    refused(data, &["groups", "list", "--state", "old"], 2, "state");
    server.stop();
}

#[test]
fn targets_are_held_and_let_go() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = Running::serve(data, &[]);
    let held = objects(data, &["breakers", "hold", "gateway", "--until", "2h", "--reason", "it is mended"]);
    assert_eq!((&held[0]["state"], &held[0]["hold"]["reason"]), (&"held".into(), &"it is mended".into()));
    assert!(held[0]["hold"]["until"].is_string(), "{held:?}");
    let rows = table(data, &["breakers", "list"]);
    assert!(rows[0].starts_with("gateway ") && rows[0].contains("it is"), "{rows:?}");
    refused(data, &["breakers", "hold", "gateway", "--until", "monday"], 2, "--until");
    refused(data, &["breakers", "hold", "gateway", "--until", "2020-01-01T00:00:00Z"], 2, "is over already");
    refused(data, &["breakers", "release", "nobody"], 3, "NOT_FOUND");
    assert_eq!(objects(data, &["breakers", "release", "gateway"])[0]["hold"], Value::Null);
    let turns = objects(data, &["breakers", "history", "gateway"]);
    let did: Vec<&str> = turns.iter().map(|turn| turn["what"].as_str().unwrap()).collect();
    assert_eq!(did, ["released", "held"]);
    let rows = table(data, &["breakers", "history", "--limit", "1"]);
    assert!(rows.len() == 1 && rows[0].contains("  gateway           released   by operator"), "{rows:?}");
    assert!(objects(data, &["breakers", "history", "nobody"]).is_empty());
    server.stop();
}

#[test]
fn waiting_jobs_are_cancelled_by_the_many_only_when_that_is_meant_and_after_a_count() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = Running::serve(data, &[]);
    objects(data, &["breakers", "hold", "gateway"]);
    for n in 0..3 {
        server.upload(
            data,
            &format!("{n}.pdf"),
            &[redrive_gateway::sample::hello(), vec![b'\n'; n]].concat(),
        );
    }
    wait_for("three to wait", || {
        (objects(data, &["jobs", "list", "--status", "held"]).len() == 3).then_some(())
    });
    refused(data, &["jobs", "cancel"], 2, "--workload");
    refused(data, &["jobs", "cancel", "--status", "held"], 2, "--workload");
    refused(data, &["jobs", "cancel", "x", "--workload", "convert"], 2, "--workload");
    let which = ["jobs", "cancel", "--workload", "convert", "--status", "held,queued"];
    let counted = objects(data, &[&which[..], &["--dry-run"]].concat()).remove(0);
    let newest = objects(data, &["jobs", "list", "--status", "held", "--limit", "1"]).remove(0);
    assert_eq!(counted, json!({"matching": 3, "upto": newest["id"]}));
    assert_eq!(
        table(data, &[&which[..], &["--search", "1.pdf", "--dry-run"]].concat()),
        ["1 job would be cancelled"]
    );
    // Nobody is at a terminal here.
    refused(data, &which, 2, "3 jobs match");
    refused(data, &which, 2, "--yes");
    refused(data, &["jobs", "cancel", "--workload", "fetch", "--yes"], 3, "no waiting job matches");
    refused(
        data,
        &["jobs", "cancel", "--workload", "convert", "--status", "failed", "--yes"],
        2,
        "filter.status",
    );
    assert_eq!(objects(data, &["jobs", "list", "--status", "held"]).len(), 3, "nothing was changed");
    let named =
        objects(data, &["jobs", "list", "--search", "0.pdf"]).remove(0)["id"].as_str().unwrap().to_owned();
    assert_eq!(objects(data, &["jobs", "cancel", &named, "--dry-run"])[0]["status"], "held");
    let how = ["--yes", "--reason", "a mistake"];
    assert_eq!(objects(data, &[&which[..], &how].concat()), [json!({"cancelled": 3, "more": false})]);
    assert_eq!(objects(data, &["jobs", "list", "--status", "cancelled"]).len(), 3);
    let acts = acts(&server, data);
    assert_eq!(acts[0]["reason"], "a mistake", "{acts:?}");
    server.stop();
}

#[test]
fn workers_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = Running::serve(data, &[]);
    let worker = wait_for("a worker", || objects(data, &["workers", "list"]).pop());
    assert_eq!((&worker["state"], &worker["name"]), (&"alive".into(), &"serve".into()));
    let rows = table(data, &["workers", "list"]);
    assert!(rows[0].starts_with(worker["id"].as_str().unwrap()) && rows[0].ends_with("serve"), "{rows:?}");
    server.stop();
}

#[test]
fn a_worker_is_drained_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = Running::serve(data, &[("WORKER_LEASE_TTL_SEC", "1")]);
    let worker = wait_for("a worker", || objects(data, &["workers", "list"]).pop());
    let id = worker["id"].as_str().unwrap();
    let (code, out, said) = ask(data, &["workers", "drain", id, "--reason", "replaced"]);
    assert!(
        code == Some(0) && out.starts_with(id) && said.contains("no other worker is running"),
        "{out}{said}"
    );
    let is = |state: &str| {
        wait_for(state, || (objects(data, &["workers", "list"])[0]["state"] == state).then_some(()));
    };
    is("draining");
    let job = server.upload(data, "good.pdf", &redrive_gateway::sample::hello()).job();
    wait_for("nothing is held", || (objects(data, &["workers", "list"])[0]["leases"] == 0).then_some(()));
    assert_eq!(objects(data, &["jobs", "show", &job])[0]["status"], "queued");
    assert_eq!(objects(data, &["workers", "drain", id, "--cancel"])[0]["drain_wanted"], false);
    is("alive");
    assert_eq!(ask(data, &["jobs", "watch", &job]).0, Some(0));
    refused(data, &["workers", "drain", "nobody"], 3, "no such worker");
    let act = acts(&server, data).into_iter().rfind(|act| act["action"] == "worker.drain").unwrap();
    assert_eq!((&act["reason"], &act["outcome"]), (&"replaced".into(), &"wanted".into()), "{act}");
    server.stop();
}

#[test]
fn a_policy_is_tried_on_what_has_happened() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = with_dead(data, 2);
    let file = |name: &str, text: &str| {
        let path = data.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // All that was refused would have been tried again.
    let policy = file("policy.toml", "preset = \"reliability\"\nretry_all = true\nmax_attempts = 5\n");
    let simulated = objects(data, &["simulate", "--policy", &policy, "--since", "1h"]).remove(0);
    assert_eq!((&simulated["jobs"], &simulated["tried_longer"]), (&2.into(), &2.into()), "{simulated}");
    let rows = table(data, &["simulate", "--policy", &policy]);
    assert_eq!(rows[0], "       2  jobs were looked at");
    assert_eq!(objects(data, &["simulate", "--policy", &policy, "--workload", "fetch"])[0]["jobs"], 0);
    refused(data, &["simulate", "--policy", "/nowhere"], 3, "/nowhere");
    refused(data, &["simulate", "--policy", &file("a", "max_atempts = 1")], 2, "max_atempts");
    refused(data, &["simulate", "--policy", &file("b", "preset = \"wild\"")], 2, "policy.preset");
    refused(data, &["simulate", "--policy", &policy, "--since", "x"], 2, "--since");
    server.stop();
    refused(data, &["simulate", "--policy", &policy], 6, "redrive serve");
}
