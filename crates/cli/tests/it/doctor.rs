//! `redrive doctor`: it only looks, and says what to do.

use std::path::{Path, PathBuf};

use redrive_gateway::sample::hello;
use serde_json::Value;

use crate::postgres::Database;
use crate::process::redrive;
use crate::running::{Running, wait_for};

/// Its exit code and findings.
fn doctor(data: &Path, settings: &[(&str, &str)]) -> (Option<i32>, Vec<Value>) {
    let args = ["doctor", "--json", "--data-dir", data.to_str().unwrap()];
    let output = redrive(&args).envs(settings.iter().copied()).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn of<'a>(found: &'a [Value], check: &str) -> &'a Value {
    found.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("no {check}: {found:#?}"))
}

fn converted(server: &Running, data: &Path) -> String {
    let id = server.upload(data, "a.pdf", &hello()).job();
    wait_for("it is converted", || {
        (server.operate(data, "GET", &format!("/api/jobs/{id}")).json()["status"] == "complete").then_some(())
    });
    id
}

fn only_file(folder: PathBuf) -> PathBuf {
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let hidden = path.file_name().unwrap().to_str().unwrap().starts_with(".redrive-");
            match path.is_dir() {
                true if !hidden => folders.push(path),
                false if !hidden => return path,
                _ => {}
            }
        }
    }
    panic!("no file");
}

fn a_healthy_system_is_well_beside_its_server_and_without(settings: &[(&str, &str)]) {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let server = Running::serve(&data, settings);
    converted(&server, &data);
    let (code, found) = doctor(&data, settings);
    assert_eq!(code, Some(0), "{found:#?}");
    for check in ["settings", "folder", "server", "disk", "gateway", "store", "jobs", "workers", "files"] {
        assert_eq!(of(&found, check)["level"], "good", "{found:#?}");
    }
    assert!(of(&found, "server")["what"].as_str().unwrap().contains(&server.pid().to_string()));
    assert_eq!(server.operate(&data, "GET", "/api/jobs").status, 200, "the server goes on");
    assert_eq!(server.stop(), Some(0));
    let (code, found) = doctor(&data, settings);
    assert_eq!((code, of(&found, "server")["level"].as_str()), (Some(0), Some("note")), "{found:#?}");
    let _again = Running::serve(&data, settings);
}

#[test]
fn a_healthy_system_is_well_on_sqlite() {
    a_healthy_system_is_well_beside_its_server_and_without(&[]);
}

#[test]
fn a_healthy_system_is_well_on_postgres() {
    let Some(database) = Database::new() else { return };
    a_healthy_system_is_well_beside_its_server_and_without(&[("DATABASE_URL", &database.url)]);
    let found = doctor(tempfile::tempdir().unwrap().path(), &[("DATABASE_URL", &database.url)]).1;
    assert_eq!(of(&found, "clock")["level"], "good", "{found:#?}");
}

#[test]
fn a_database_without_a_schema_is_told_and_left_alone() {
    let Some(database) = Database::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let (code, found) = doctor(dir.path(), &[("DATABASE_URL", &database.url)]);
        let store = of(&found, "store");
        assert_eq!((code, store["level"].as_str()), (Some(1), Some("bad")), "{found:#?}");
        assert!(store["what"].as_str().unwrap().contains("schema"), "still none the second time: {store}");
    }
}

#[test]
fn an_empty_folder_is_no_problem_and_stays_empty() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("nothing");
    let (code, found) = doctor(&data, &[]);
    assert_eq!(code, Some(0), "{found:#?}");
    assert_eq!(of(&found, "store")["level"], "note");
    assert!(!data.exists(), "looking makes nothing");
}

#[test]
fn a_result_that_somebody_removed_is_found_with_its_job() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::serve(dir.path(), &[]);
    let id = converted(&server, dir.path());
    std::fs::remove_file(only_file(dir.path().join("results"))).unwrap();
    let (code, found) = doctor(dir.path(), &[]);
    let files = of(&found, "files");
    assert_eq!((code, files["level"].as_str()), (Some(1), Some("bad")), "{found:#?}");
    assert!(files["what"].as_str().unwrap().contains(&format!("the result of {id} (complete)")), "{files}");
    assert!(files["next"].as_str().is_some_and(|next| !next.is_empty()));
    let args = ["doctor", "--data-dir", dir.path().to_str().unwrap()];
    let output = redrive(&args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("✗ files") && text.contains("→ ") && text.contains("✓ settings"), "{text}");
}

#[test]
fn what_is_wrong_around_the_jobs_is_told_with_a_next_step() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Running::serve(dir.path(), &[]);
    server.signal("-KILL");
    server.ended();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gateway = format!("http://user:secret@{}", closed.local_addr().unwrap());
    drop(closed);
    let most = "18446744073709551615";
    let settings = [("GATEWAY_URL", gateway.as_str()), ("DISK_HARD_BYTES", most), ("DISK_SOFT_BYTES", most)];
    let (code, found) = doctor(dir.path(), &settings);
    assert_eq!(code, Some(1));
    for (check, level, words) in
        [("server", "note", "stale"), ("gateway", "bad", "127.0.0.1"), ("disk", "bad", "DISK_HARD_BYTES")]
    {
        let finding = of(&found, check);
        assert_eq!(finding["level"], level, "{finding}");
        assert!(finding["what"].as_str().unwrap().contains(words), "{finding}");
        assert!(finding["next"].is_string(), "{finding}");
    }
    assert!(!format!("{found:?}").contains("secret"), "{found:?}");
    let (code, found) = doctor(dir.path(), &[("RETRY_MAX_ATTEMPTS", "many")]);
    assert_eq!((code, of(&found, "settings")["level"].as_str()), (Some(1), Some("bad")), "{found:?}");
}
