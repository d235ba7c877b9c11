//! Tokens from the command line, a server that others can reach, and what a command line never holds.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::jobs::ask;
use crate::postgres::Database;
use crate::process::redrive;
use crate::running::{Running, wait_for};

fn tokens_are_made_used_and_taken_back(data: &Path, settings: &[(&str, &str)]) {
    let server = Running::serve(data, settings);
    let (code, out, said) =
        ask(data, &["tokens", "add", "--name", "nightly", "--scope", "act", "--expires", "30d"]);
    assert_eq!(code, Some(0), "{said}");
    let token = out.trim();
    assert!(token.starts_with("rdo_") && out.lines().count() == 1 && !said.contains("rdo_"), "{out} {said}");
    let bearer = format!("Bearer {token}");
    let by_token = |path: &str| server.ask("GET", path, &[("authorization", &bearer)], b"");
    assert_eq!((by_token("/api/audit").status, by_token("/api/tokens").status), (200, 403));
    let (_, listed, _) = ask(data, &["tokens", "list"]);
    let line = listed.lines().next().unwrap();
    assert!(line.contains("  act    good     nightly") && line.chars().count() <= 80, "{line}");
    let id = line.split_whitespace().next().unwrap();
    // A command of another machine has the token in its environment.
    let url = format!("http://{}", server.address());
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = redrive(&["tokens", "list", "--redrive-url", &url]);
    command.env("OPERATOR_TOKEN", token).current_dir(elsewhere.path());
    let refused = command.output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(said.contains("AUTH_SCOPE") && said.contains("needs the scope admin"), "{said}");
    let (code, out, said) = ask(data, &["tokens", "revoke", id, "--reason", "leaked"]);
    assert!(code == Some(0) && out.contains("revoked"), "{out} {said}");
    assert_eq!(by_token("/api/audit").status, 401);
    assert_eq!(ask(data, &["tokens", "revoke", "000000000000"]).0, Some(3));
    for wrong in
        [&["--scope", "root", "--name", "a"][..], &["--scope", "read", "--name", "<a>"], &["--scope", "read"]]
    {
        assert_eq!(ask(data, &[&["tokens", "add"], wrong].concat()).0, Some(2), "{wrong:?}");
    }
    let late = ["tokens", "add", "--name", "a", "--scope", "read", "--expires", "monday"];
    assert_eq!(ask(data, &late).0, Some(2));
    let acts = server.operate(data, "GET", "/api/audit").json();
    let act = acts["acts"].as_array().unwrap().iter().find(|act| act["action"] == "token.revoke").unwrap();
    assert_eq!((&act["reason"], &act["actor"]), (&"leaked".into(), &"operator (local)".into()), "{act}");
    assert!(!server.err().contains(&token[4..68]) && !server.out().contains(&token[4..68]));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn tokens_are_made_used_and_taken_back_on_sqlite() {
    tokens_are_made_used_and_taken_back(tempfile::tempdir().unwrap().path(), &[]);
}

#[test]
fn tokens_are_made_used_and_taken_back_on_postgres() {
    let Some(database) = Database::new() else { return };
    tokens_are_made_used_and_taken_back(
        tempfile::tempdir().unwrap().path(),
        &[("DATABASE_URL", &database.url)],
    );
}

/// Other machines reach nothing before operators have a token: the one that a first start makes would stand in a log.
#[test]
fn a_server_that_others_can_reach_has_a_token_first() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    for address in ["0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0"] {
        let mut command = redrive(&["serve", "--listen", address, "--data-dir", data]);
        command.env("METRICS_LISTEN", "127.0.0.1:0").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that starts all the same shall not keep the test waiting, nor stay.
        let until = Instant::now() + Duration::from_secs(30);
        while child.try_wait().unwrap().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{address}: {said}");
        assert!(said.contains("OPERATOR_TOKEN") && said.contains("127.0.0.1"), "{said}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("rdo_"), "{address}");
    }
    let everywhere = ["serve", "--listen", "0.0.0.0:0", "--data-dir", data];
    let chosen = Running::start(&everywhere, &[("OPERATOR_TOKEN", "chosen-by-the-operator")]);
    chosen.said("redrive listening on ");
    assert_eq!(chosen.stop(), Some(0));
    // One that an earlier start has made counts too.
    assert_eq!(Running::serve(dir.path(), &[]).stop(), Some(0));
    let later = Running::start(&everywhere, &[]);
    later.said("redrive listening on ");
    assert_eq!(later.stop(), Some(0));
}

/// What other people of the machine can read of our processes: their command lines. No setting that is a secret has a flag.
#[test]
fn no_command_line_holds_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let token = "canary-of-the-command-line";
    let server = Running::serve(dir.path(), &[("OPERATOR_TOKEN", token)]);
    let job = server.upload(dir.path(), "a.pdf", &redrive_gateway::sample::hello()).job();
    let local = crate::running::server_file(dir.path())["token"].as_str().unwrap().to_owned();
    let mut seen = 0;
    wait_for("the job ends", || {
        for process in processes(server.pid()) {
            seen += 1;
            for secret in [token, local.as_str()] {
                assert!(!process.contains(secret), "{process}");
            }
        }
        let job = server.operate(dir.path(), "GET", &format!("/api/jobs/{job}")).json();
        (job["status"] == "complete").then_some(())
    });
    assert!(seen > 0, "nobody was looked at");
    let output = redrive(&["serve", "--operator-token", token]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "there is no such flag");
}

/// The command lines of a process and of its children.
fn processes(of: u32) -> Vec<String> {
    let line = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok();
    let children =
        std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten().flat_map(|task| {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
        });
    std::iter::once(of).chain(children).filter_map(line).collect()
}
