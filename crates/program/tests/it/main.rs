//! Programs of a few lines of shell, run to their end or to ours.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use redrive_program::{Call, Program, ProgramError, RunError, Words};
use tempfile::TempDir;

fn shell(lines: &str) -> Program {
    let environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    let line = format!("sh -c '{}' it", lines.replace('\'', r"'\''"));
    Program::find(&line, environment, "the program").unwrap()
}

fn call() -> Call<'static> {
    Call {
        arguments: &[],
        input: &[],
        words: Words::Answer(1_024),
        folder: None,
        timeout: Duration::from_secs(20),
        memory: None,
    }
}

fn is_alive(pid: &str) -> bool {
    // A zombie that nobody has waited for is as good as gone.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

async fn gone(file: &Path) {
    let begun = Instant::now();
    let pid = loop {
        match fs::read_to_string(file) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            _ => assert!(begun.elapsed() < Duration::from_secs(20), "it never began"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    while is_alive(&pid) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{pid} lives");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test]
async fn it_gets_its_arguments_its_input_its_folder_and_nothing_of_ours() {
    let home = home();
    let lines = r#"cat; echo " $1 $2"; pwd; env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD="#;
    let arguments = ["a b".into(), "$HOME".into()];
    let call = Call { arguments: &arguments, input: b"hello", folder: Some(home.path()), ..call() };
    let said = String::from_utf8(shell(lines).run(call).await.unwrap()).unwrap();
    assert_eq!(said, format!("hello a b $HOME\n{}\nPATH=/usr/bin:/bin\n", home.path().display()));
}

#[tokio::test]
async fn how_it_ended_is_told_with_its_last_words_on_one_clean_line() {
    for (lines, exit, text) in [
        (
            "echo first >&2; echo last >&2; echo >&2; exit 3",
            Some(3),
            "the program ended with exit code 3: last",
        ),
        ("exit 75", Some(75), "the program ended with exit code 75"),
        ("kill -9 $$", None, "the program was killed by signal 9"),
        ("yes", None, "the program wrote more than 1024 bytes"),
        (r#"printf "a\033[31mb\rc" >&2; exit 1"#, Some(1), "exit code 1: a\u{fffd}[31mb c"),
    ] {
        let error = shell(lines).run(call()).await.unwrap_err();
        let code = match &error {
            RunError::Exit { code, .. } => Some(*code),
            RunError::Failed(_) => None,
            error => panic!("{lines}: {error:?}"),
        };
        assert_eq!(code, exit, "{lines}: {error}");
        assert!(error.to_string().contains(text), "{lines}: {error:?}");
    }
}

#[tokio::test]
async fn however_much_it_complains_little_is_kept_and_nobody_waits() {
    let lines =
        "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done
        echo end >&2; exit 4";
    let error = shell(lines).run(Call { words: Words::Unheard, ..call() }).await.unwrap_err();
    assert_eq!(error.to_string(), "the program ended with exit code 4: end");
}

#[tokio::test]
async fn what_nobody_hears_stops_nobody() {
    let lines = "head -c 1000000 /dev/zero; exit 0";
    let said = shell(lines).run(Call { words: Words::Unheard, ..call() }).await.unwrap();
    assert!(said.is_empty());
}

/// Starts another one and then does not end.
const STUCK: &str = "sleep 1000 & echo $! > child; echo $$ > leader; wait";

#[tokio::test]
async fn when_its_time_is_over_it_is_killed_with_everything_it_started() {
    let home = home();
    let limit = Duration::from_secs(1);
    let call = Call { folder: Some(home.path()), timeout: limit, ..call() };
    let error = shell(STUCK).run(call).await.unwrap_err();
    assert!(matches!(&error, RunError::TimedOut(text) if text.contains("within 1s")), "{error:?}");
    gone(&home.path().join("leader")).await;
    gone(&home.path().join("child")).await;
}

#[tokio::test]
async fn when_nobody_waits_any_more_it_is_killed_with_everything_it_started() {
    let home = home();
    let folder = home.path().to_owned();
    let running = tokio::spawn(async move {
        let call = Call { folder: Some(&folder), ..call() };
        shell(STUCK).run(call).await.map_err(|error| error.to_string())
    });
    let begun = Instant::now();
    while !home.path().join("leader").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    gone(&home.path().join("leader")).await;
    gone(&home.path().join("child")).await;
}

#[tokio::test]
async fn whom_it_leaves_behind_is_killed_also_when_they_hold_none_of_its_pipes() {
    for lines in ["sleep 1000 & echo $! > child", "sleep 1000 >/dev/null 2>&1 </dev/null & echo $! > child"] {
        let home = home();
        let call = Call { folder: Some(home.path()), ..call() };
        shell(lines).run(call).await.unwrap();
        gone(&home.path().join("child")).await;
    }
}

#[tokio::test]
async fn one_that_wants_more_memory_than_it_may_have_does_not_get_it() {
    let lines = "dd if=/dev/zero of=/dev/null bs=300M count=1";
    shell(lines).run(call()).await.unwrap();
    let error = shell(lines).run(Call { memory: Some(64 << 20), ..call() }).await.unwrap_err();
    assert!(matches!(error, RunError::Exit { code: 1, .. }), "{error:?}");
    // Those that it starts have no more.
    let lines = "(dd if=/dev/zero of=/dev/null bs=300M count=1) 2>/dev/null; echo $?";
    let said = shell(lines).run(Call { memory: Some(64 << 20), ..call() }).await.unwrap();
    assert_eq!(said, b"1\n");
    let error = shell("kill -6 $$").run(Call { memory: Some(64 << 20), ..call() }).await.unwrap_err();
    assert!(error.to_string().contains("signal 6 (each of its processes has at most 64 MiB)"), "{error}");
}

#[test]
fn a_line_that_cannot_be_run_is_none() {
    let find = |line: &str| Program::find(line, vec![("PATH".into(), "/usr/bin:/bin".into())], "it");
    assert!(find("sh -c 'echo {}'").is_ok());
    for line in ["", "  ", "'open"] {
        assert!(matches!(find(line), Err(ProgramError::Line)), "{line}");
    }
    for line in ["no-such-program", "/no/such", "/etc/passwd", "/tmp"] {
        assert!(matches!(find(line), Err(ProgramError::Missing(_))), "{line}");
    }
}
