//! `FETCH_HANDLER` as its users set it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use redrive_lab::origin::Origin;

use crate::process::redrive;

/// A program of a few lines of shell.
fn program(folder: &Path, lines: &str) -> String {
    let path = folder.join("my handler");
    std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("'{}'", path.display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_refuses_names_and_leaves_nothing_behind() {
    let (dir, origin) = (tempfile::tempdir().unwrap(), Origin::start().await.unwrap());
    let lines = r#"case "$(cat)" in
        *bad*) echo '{"refuse": "not this one"}' ;;
        *) echo '{"name": "kept/good.bin", "tags": {"virus": "none"}}' ;;
        esac"#;
    let handler = program(dir.path(), lines);
    let (good, bad) = (origin.url("/good"), origin.url("/bad"));
    let mut command = redrive(&["fetch", "--json", "--to", "out", "--fetch-handler", &handler, &good, &bad]);
    command.current_dir(dir.path()).env("FETCH_ALLOW_PRIVATE", "true");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{out}{said}");
    assert!(out.contains("HANDLER_REFUSED") && out.contains("kept/good.bin"), "{out}{said}");
    assert!(out.contains(r#""tags":{"virus":"none"}"#), "{out}");
    assert!(dir.path().join("out/kept/good.bin").exists(), "{out}");
    assert_eq!((origin.count("/good"), origin.count("/bad")), (1, 0));
}

#[test]
fn a_handler_that_is_not_there_is_said_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    for line in ["no-such-handler --fast", "'open"] {
        let args = ["serve", "--listen", "127.0.0.1:0", "--fetch-handler", line];
        let output =
            redrive(&args).current_dir(dir.path()).env("METRICS_LISTEN", "127.0.0.1:0").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("FETCH_HANDLER: "), "{said}");
    }
}
