//! Real children that do what hostile files would like to do.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use redrive_gateway::cage::{Cage, Fault, Outcome, Settings, Task, stopper};
use redrive_gateway::convert::{RefusalCode, Warning};
use redrive_gateway::write::Mapping;

/// Tight enough that a test does not take long, wide enough that a busy machine does not matter.
pub(crate) fn settings() -> Settings {
    Settings {
        program: PathBuf::from(env!("CARGO_BIN_EXE_gateway-child")),
        wall: Duration::from_secs(60),
        cpu: Duration::from_secs(1),
        ..Settings::default()
    }
}

pub(crate) fn script(text: &str) -> File {
    let mut file = tempfile::tempfile().unwrap();
    write!(file, "%PDF-{text}").unwrap();
    file
}

fn text() -> Task {
    Task::Convert { mapping: Mapping::Text, pages: None }
}

fn run(settings: Settings, pdf: &File, task: &Task) -> Result<Outcome, Fault> {
    let (_keep, stopped) = stopper().unwrap();
    Cage::new(settings).run(pdf, task, &stopped)
}

fn refusal(settings: Settings, text_of: &str) -> (RefusalCode, String) {
    match run(settings, &script(text_of), &text()).unwrap() {
        Outcome::Refused(refusal) => (refusal.code, refusal.detail),
        Outcome::Done(output) => panic!("{text_of} gave {} bytes", output.len()),
    }
}

fn limit(settings: Settings, text_of: &str) -> String {
    let (code, detail) = refusal(settings, text_of);
    assert_eq!(code, RefusalCode::LimitExceeded, "{text_of}: {detail}");
    detail
}

#[test]
fn a_file_is_converted() {
    let outcome = run(settings(), &script("say hello world"), &text()).unwrap();
    let Outcome::Done(output) = outcome else { panic!("{outcome:?}") };
    assert_eq!(output.summary.pages, Some(10));
    assert_eq!(output.summary.warnings, []);
    let xml = String::from_utf8(output.read_at(0, usize::MAX).unwrap()).unwrap();
    assert!(xml.starts_with("<?xml"), "{xml}");
    assert!(xml.ends_with("</document>\n"), "{xml}");
    assert_eq!(xml.matches(">hello</word>").count(), 10);
}

#[test]
fn a_range_of_pages_is_converted() {
    for (pages, count) in [((2, 4), 3), ((10, 99), 1), ((11, 12), 0)] {
        let task = Task::Convert { mapping: Mapping::Alto, pages: Some(pages) };
        let outcome = run(settings(), &script("say x"), &task).unwrap();
        let Outcome::Done(output) = outcome else { panic!("{outcome:?}") };
        assert_eq!(output.summary.pages, Some(count));
    }
}

#[test]
fn warnings_come_with_the_result() {
    let outcome = run(settings(), &script("warn"), &text()).unwrap();
    let Outcome::Done(output) = outcome else { panic!("{outcome:?}") };
    let expected = [
        Warning::NoTextLayer,
        Warning::Repaired,
        Warning::UnmappedGlyphs,
        Warning::ReplacedCharacters,
        Warning::UnreadablePages,
    ];
    assert_eq!(output.summary.warnings, expected);
}

#[test]
fn a_refusal_of_the_reader_keeps_its_code() {
    for (word, code) in [
        ("password", RefusalCode::PasswordRequired),
        ("encryption", RefusalCode::UnsupportedEncryption),
        ("pages", RefusalCode::TooManyPages),
        ("limit", RefusalCode::LimitExceeded),
        ("other", RefusalCode::InvalidPdf),
    ] {
        assert_eq!(refusal(settings(), &format!("refuse {word}")).0, code);
    }
}

#[test]
fn an_endless_loop_ends_at_the_limit_of_computing() {
    assert_eq!(limit(settings(), "loop"), "The file takes too much time to compute.");
}

#[test]
fn an_endless_recursion_ends() {
    limit(settings(), "stack");
}

#[test]
fn memory_without_end_ends() {
    for memory in [1 << 30, 64 << 20] {
        let settings = Settings { memory, cpu: Duration::from_secs(30), ..settings() };
        assert_eq!(limit(settings, "memory"), "The file takes too much memory.");
    }
}

#[test]
fn output_without_end_ends_at_the_limit() {
    let tight = Settings { output: 8 << 20, cpu: Duration::from_secs(20), ..settings() };
    assert_eq!(limit(tight, "flood"), "The result is larger than allowed.");
}

#[test]
fn long_five_million_glyphs_fit() {
    for mapping in Mapping::ALL {
        let settings =
            Settings { cpu: Duration::from_secs(200), wall: Duration::from_secs(400), ..settings() };
        let task = Task::Convert { mapping, pages: None };
        let outcome = run(settings, &script("big"), &task).unwrap();
        let Outcome::Done(output) = outcome else { panic!("{}: {outcome:?}", mapping.name()) };
        assert_eq!(output.summary.pages, Some(1000));
        assert!(output.len() > 5_000_000);
    }
}

#[test]
fn a_panic_an_abort_and_an_exit_are_the_files_fault() {
    for bad in ["panic secret text", "abort", "exit"] {
        limit(settings(), bad);
    }
}

#[test]
fn a_file_larger_than_allowed_is_not_read() {
    let tight = Settings { input: 20, ..settings() };
    let (code, _) = refusal(tight, "say far more than twenty bytes");
    assert_eq!(code, RefusalCode::LimitExceeded);
}

#[test]
fn a_child_that_only_waits_is_stopped_and_the_machine_is_blamed() {
    let short = Settings { wall: Duration::from_millis(300), ..settings() };
    assert!(matches!(run(short, &script("sleep"), &text()), Err(Fault::Starved)));
}

#[test]
fn a_child_that_computes_through_its_wall_time_is_refused() {
    // The kernel counts whole seconds and lets it go on; more than half of what is allowed is used up all the same.
    let short = Settings { wall: Duration::from_millis(900), cpu: Duration::from_millis(20), ..settings() };
    assert_eq!(limit(short, "loop"), "The file takes too much time.");
}

/// Waits for a fact.
fn until(fact: impl Fn() -> bool) {
    let end = std::time::Instant::now() + Duration::from_secs(50);
    while !fact() {
        assert!(std::time::Instant::now() < end, "it never came true");
        std::thread::yield_now();
    }
}

#[test]
fn a_child_is_killed_when_nobody_waits_for_it() {
    let (stop, stopped) = stopper().unwrap();
    let pdf = script("sleep");
    (&pdf).rewind().unwrap();
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(|| Cage::new(settings()).run(&pdf, &text(), &stopped));
        // The child's handle is the same open file: what it has read, we have.
        until(|| (&pdf).stream_position().unwrap() > 0);
        drop(stop);
        running.join().unwrap()
    });
    assert!(matches!(outcome, Err(Fault::Stopped)), "{outcome:?}");
}

#[test]
fn a_child_dies_with_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script");
    std::fs::write(&path, "%PDF-sleep").unwrap();
    // The lock belongs to the open file, and so to whoever has it open: parent and child.
    let pdf = File::open(&path).unwrap();
    pdf.lock().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateway-child"));
    let mut parent = command.stdin(pdf).stdout(Stdio::null()).spawn().unwrap();
    drop(command);
    let pid = parent.id().to_string();
    // Its parent is the one, and it leads a group of its own: a Ctrl-C at the parent's terminal is not for it.
    let is_child = |folder: &std::path::Path| {
        let stat = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
        let own = folder.file_name().and_then(|name| name.to_str());
        let mut after = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(1);
        after.next() == Some(&pid) && after.next() == own
    };
    // It limits itself after it has bound itself to its parent.
    let is_limited = |folder: &std::path::Path| {
        let limits = std::fs::read_to_string(folder.join("limits")).unwrap_or_default();
        limits.lines().any(|line| line.split_whitespace().eq("Max open files 16 16 files".split(' ')))
    };
    until(|| {
        let mut processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        processes.any(|folder| is_child(&folder) && is_limited(&folder))
    });
    let other = File::open(&path).unwrap();
    assert!(other.try_lock().is_err(), "nobody has the file open");
    parent.kill().unwrap();
    parent.wait().unwrap();
    until(|| other.try_lock().is_ok());
}

#[test]
fn a_program_that_cannot_be_started_is_our_fault() {
    let bad = Settings { program: "/nowhere/at/all".into(), ..settings() };
    assert!(matches!(run(bad, &script("say x"), &text()), Err(Fault::Start(_))));
    let bad = Settings { temp_dir: "/nowhere/at/all".into(), ..settings() };
    assert!(matches!(run(bad, &script("say x"), &text()), Err(Fault::Disk(_))));
    let bad = Settings { program: "/bin/true".into(), ..settings() };
    assert!(matches!(run(bad, &script("say x"), &text()), Err(Fault::Bug(0))));
}

#[test]
fn a_caged_child_reaches_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made");
    for what in [
        format!("connect {address}"),
        "listen".to_owned(),
        "open /etc/hostname".to_owned(),
        format!("create {}", file.display()),
        "exec /bin/true".to_owned(),
        "thread".to_owned(),
    ] {
        assert_eq!(refusal(settings(), &format!("try {what}")).1, "PermissionDenied", "{what}");
    }
    assert!(!file.exists());
    assert_eq!(refusal(settings(), "try nothing").1, "allowed");
    assert_eq!(refusal(settings(), "try environment").1, "0 variables");
}

#[test]
fn a_full_disk_is_not_the_files_fault() {
    // Writing to this device always fails as a full disk does, and it can be had as a file.
    let full = File::options().read(true).write(true).open("/dev/full").unwrap();
    let order = serde_json::json!({
        "mapping": "text", "pages": null, "cpu_seconds": 5, "memory": 1_u64 << 30, "input": 1000,
        "output": 1 << 20, "parent": std::process::id(),
    });
    let status = Command::new(env!("CARGO_BIN_EXE_gateway-child"))
        .args(["__gateway-child", &order.to_string()])
        .stdin(script("say hello"))
        .stdout(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(74));
}

#[test]
fn a_child_of_another_parent_does_not_begin() {
    let order = serde_json::json!({
        "mapping": "text", "pages": null, "cpu_seconds": 5, "memory": 1_u64 << 30, "input": 1000,
        "output": 1 << 20, "parent": 1,
    });
    let output = Command::new(env!("CARGO_BIN_EXE_gateway-child"))
        .args(["__gateway-child", &order.to_string()])
        .stdin(script("say hello"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(71));
    assert!(output.stdout.is_empty());
}
