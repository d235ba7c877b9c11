//! Handlers that are programs: `FETCH_HANDLER`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use redrive_engine::{Code, Running};
use redrive_fetch::{CommandError, CommandHook, CommandOptions, Resource};
use redrive_lab::origin::{Answer, Origin};
use redrive_program::ProgramError;
use serde_json::Value;

use crate::bench::{Bench, noise, quick, resource, until};

/// A program of a few lines of shell, and what it runs with.
fn program(bench: &Bench, lines: &str) -> CommandOptions {
    let path = bench.home.path().join("my handler");
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    CommandOptions {
        line: format!("'{}' --log {}", path.display(), bench.home.path().join("log").display()),
        timeout: Duration::from_secs(20),
        scratch: bench.home.path().join("scratch"),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into()), ("LANG".into(), "C".into())],
    }
}

fn start(bench: &Bench, options: CommandOptions) -> Running {
    let hook = CommandHook::new(options).unwrap();
    bench.engine.register(bench.workload(quick()).with_hook(Arc::new(hook)));
    bench.engine.start()
}

fn wanted(origin: &Origin, path: &str, body: &[u8]) -> Resource {
    origin.say(path, [Answer::Bytes(body.to_vec())]);
    let mut wanted = resource(&origin.url(path));
    wanted.headers.insert("authorization".into(), "Bearer CANARY".into());
    wanted.tags.insert("colour".into(), "blue".into());
    wanted
}

fn scratch(bench: &Bench) -> Vec<PathBuf> {
    fs::read_dir(bench.home.path().join("scratch")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn is_alive(pid: &str) -> bool {
    // A zombie that nobody has waited for is as good as gone.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn log(bench: &Bench, name: &str) -> String {
    fs::read_to_string(bench.home.path().join(name)).unwrap()
}

#[tokio::test]
async fn a_program_is_asked_twice_and_sees_all_but_headers_and_our_environment() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let lines = r#"cat > "$2.$3"; env > "$2.env"
        if [ "$3" = before ]; then echo '{"tags": {"virus": "unknown"}}'; exit; fi
        path=$(sed 's/.*"path":"\([^"]*\)".*/\1/' "$2.$3")
        cp "$path" "$2.bytes"; : > "$path"
        echo '{"name": "scanned/it.bin", "tags": {"virus": "none"}}'"#;
    let running = start(&bench, program(&bench, lines));
    let body = noise(400_000);
    let wanted = wanted(&origin, "/a?sig=real", &body);
    let row = bench.ended(bench.enqueue(&wanted).await).await;
    let (made, stored) = bench.stored(&row).await;
    running.drain().await;
    assert_eq!((made.key.as_str(), made.tags["virus"].as_str()), ("batch/scanned/it.bin", "none"));
    assert_eq!(stored, body, "what it does to its copy is not done to what is stored");
    assert_eq!(fs::read(bench.home.path().join("log.bytes")).unwrap(), body);
    let before: Value = serde_json::from_str(&log(&bench, "log.before")).unwrap();
    assert_eq!((&before["phase"], &before["url"]), (&"before".into(), &wanted.url.clone().into()));
    assert_eq!((&before["id"], &before["tags"]["colour"]), (&wanted.id.clone().into(), &"blue".into()));
    assert_eq!((&before["job"], &before["attempt"]), (&row.id.to_string().into(), &1.into()));
    assert_eq!(before.get("path"), None);
    let after: Value = serde_json::from_str(&log(&bench, "log.after")).unwrap();
    assert_eq!((&after["bytes"], &after["status"]), (&400_000.into(), &200.into()));
    assert_eq!(after["sha256"], made.sha256.to_string());
    for said in [before, after] {
        assert!(!said.to_string().contains("CANARY"), "{said}");
    }
    let environment = log(&bench, "log.env");
    let mut names: Vec<&str> = environment.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.retain(|name| !matches!(*name, "PWD" | "SHLVL" | "_" | "OLDPWD"));
    names.sort_unstable();
    assert_eq!(names, ["LANG", "PATH"], "nothing of ours: {environment}");
    assert_eq!(scratch(&bench), Vec::<PathBuf>::new(), "copies are gone");
}

#[tokio::test]
async fn a_program_that_refuses_fails_or_talks_nonsense_ends_the_job_with_its_own_words() {
    for (lines, code, says) in [
        (r#"echo '{"refuse": "not today"}'"#, Code::HandlerRefused, "refused it: not today"),
        (
            "echo first >&2; echo 'last words' >&2; echo >&2; exit 3",
            Code::HandlerFailed,
            "exit code 3: last words",
        ),
        ("kill -9 $$", Code::HandlerFailed, "killed by signal 9"),
        ("echo nonsense", Code::HandlerFailed, "answer cannot be read"),
        (r#"echo '{"colour": "blue"}'"#, Code::HandlerFailed, "answer cannot be read"),
        (r#"echo '{}{}'"#, Code::HandlerFailed, "answer cannot be read"),
        ("true", Code::HandlerFailed, "said nothing"),
        ("yes", Code::HandlerFailed, "more than 65536 bytes"),
        (
            "printf 'token=CANARY \\033[31m%0500d' 7 >&2; exit 1",
            Code::HandlerFailed,
            "exit code 1: token=***",
        ),
        (r#"echo '{"name": "../up"}'"#, Code::HandlerFailed, "chose the name"),
    ] {
        let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
        let running = start(&bench, program(&bench, lines));
        let (failed, attempts) = bench.fails(&wanted(&origin, "/a", b"body")).await;
        running.drain().await;
        let message = attempts[0].message.clone().unwrap();
        assert_eq!((failed, attempts.len()), (code, 1), "{lines}: {message}");
        assert!(message.contains(says), "{lines}: {message}");
        assert!(message.chars().count() < 300 && !message.contains(['\n', '\u{1b}']), "{message:?}");
        assert!(!message.contains("CANARY"), "{message}");
        assert_eq!((origin.count("/a"), bench.keys().await), (0, 0), "{lines}");
    }
}

#[tokio::test]
async fn what_is_refused_after_is_not_stored() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let lines = r#"if [ "$3" = after ]; then echo '{"refuse": "a virus"}'; else echo '{}'; fi"#;
    let running = start(&bench, program(&bench, lines));
    let (code, _) = bench.fails(&wanted(&origin, "/a", &noise(200_000))).await;
    running.drain().await;
    assert_eq!((code, origin.count("/a")), (Code::HandlerRefused, 1));
    assert_eq!((bench.keys().await, bench.temps(), scratch(&bench).len()), (0, 0, 0));
}

/// A program that starts another one and then does not end.
const STUCK: &str =
    r#"sleep 1000 & echo $! > "$2.child.part"; echo $$ > "$2.pid"; mv "$2.child.part" "$2.child"; wait"#;

#[tokio::test]
async fn a_program_that_takes_too_long_is_killed_with_everything_it_started() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let options = CommandOptions { timeout: Duration::from_secs(1), ..program(&bench, STUCK) };
    let running = start(&bench, options);
    let (code, attempts) = bench.fails(&wanted(&origin, "/a", b"body")).await;
    assert_eq!((code, attempts.len()), (Code::HandlerTimeout, 1), "{attempts:?}");
    for name in ["log.pid", "log.child"] {
        let pid = log(&bench, name).trim().to_owned();
        until(|| !is_alive(&pid)).await;
    }
    running.drain().await;
}

#[tokio::test]
async fn a_program_is_killed_when_its_attempt_is_told_to_end() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = start(&bench, program(&bench, STUCK));
    bench.enqueue(&wanted(&origin, "/a", b"body")).await;
    let child = bench.home.path().join("log.child");
    until(|| child.exists()).await;
    running.drain().await;
    for name in ["log.pid", "log.child"] {
        let pid = log(&bench, name).trim().to_owned();
        until(|| !is_alive(&pid)).await;
    }
}

#[tokio::test]
async fn one_that_leaves_somebody_behind_is_taken_at_its_word_and_they_are_killed() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let lines = r#"sleep 1000 & echo $! > "$2.child"; echo '{}'"#;
    let running = start(&bench, program(&bench, lines));
    let row = bench.ended(bench.enqueue(&wanted(&origin, "/a", b"body")).await).await;
    bench.stored(&row).await;
    let pid = log(&bench, "log.child").trim().to_owned();
    until(|| !is_alive(&pid)).await;
    running.drain().await;
}

#[tokio::test]
async fn a_line_that_cannot_be_run_is_said_at_the_start() {
    let bench = Bench::new().await;
    let options = program(&bench, "echo {}");
    let with = |line: &str| CommandHook::new(CommandOptions { line: line.to_owned(), ..options.clone() });
    assert!(with("sh -c 'echo {}'").is_ok(), "it is found in PATH");
    for line in ["", "   ", "'open"] {
        assert!(matches!(with(line), Err(CommandError::Program(ProgramError::Line))), "{line}");
    }
    for line in ["no-such-program", "/no/such/program x", "/etc/passwd", "/tmp"] {
        let error = with(line).unwrap_err();
        assert!(matches!(&error, CommandError::Program(ProgramError::Missing(_))), "{line}: {error}");
    }
    let file = bench.home.path().join("my handler");
    let options = CommandOptions { scratch: file.join("below"), ..options };
    assert!(matches!(CommandHook::new(options), Err(CommandError::Scratch(..))));
    assert!(Path::new(&file).exists());
}
