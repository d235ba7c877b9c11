//! Documents that a program processes: `INTAKE_COMMAND`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use redrive_engine::Code;
use redrive_engine::store::intake::Stage;
use redrive_intake::{Command, CommandOptions, Noted};

use crate::bench::{Bench, On, PDF};
use crate::gateway::{FakeGateway, Say};

/// A folder whose documents go through a few lines of shell, and a place for the program's own things.
async fn bench(gateway: &FakeGateway, lines: &str) -> (Bench, tempfile::TempDir) {
    bench_on(On::Folder, gateway, lines).await
}

async fn bench_on(on: On, gateway: &FakeGateway, lines: &str) -> (Bench, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("tool");
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let options = CommandOptions {
        line: format!("{} --own {}", path.display(), home.path().display()),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        timeout: Duration::from_secs(30),
        memory: Some(1 << 30),
        scratch: home.path().join("scratch"),
        max_result: 1 << 20,
    };
    let mut bench = Bench::on(on, &gateway.url).await;
    bench.command = Some(Command::new(options).unwrap());
    (bench, home)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_program_leaves_is_published_with_the_pdf() {
    for on in [On::Folder, On::Bucket] {
        published_on(on).await;
    }
}

async fn published_on(on: On) {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let lines = r#"cp "$3" "$4/report.txt"; mkdir "$4/pages"; echo 1 > "$4/pages/1.txt""#;
    let (bench, home) = bench_on(on, &gateway, lines).await;
    bench.put("queue/team/report.pdf", PDF);
    bench.put("result/team/report.txt", b"an older one");
    let running = bench.start().await;
    bench.until_stage(Stage::Done, 1).await;
    running.drain().await;
    let files = [
        "result/team/report-2.pdf",
        "result/team/report-2.txt",
        "result/team/report-2/pages/1.txt",
        "result/team/report.txt",
    ];
    assert_eq!(bench.files(), files);
    assert_eq!(fs::read(bench.at("result/team/report-2.txt")).unwrap(), PDF);
    assert_eq!(fs::read(bench.at("result/team/report.txt")).unwrap(), b"an older one");
    let row = bench.store.job(bench.documents().await[0].id).await.unwrap().unwrap();
    let noted = Noted::parse(row.result.as_deref().unwrap()).unwrap();
    assert_eq!(noted.pdf, "result/team/report-2.pdf");
    assert_eq!(noted.outputs.len(), 2);
    assert_eq!(gateway.calls(), (0, 0), "no gateway was asked");
    assert_eq!(fs::read_dir(home.path().join("scratch")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_fails_is_tried_again_and_given_up_with_its_own_words() {
    for on in [On::Folder, On::Bucket] {
        failing_on(on).await;
    }
}

async fn failing_on(on: On) {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let lines = r#"echo x >> "$2/runs"; echo half > "$4/half"; echo 'no licence' >&2; exit 7"#;
    let (bench, home) = bench_on(on, &gateway, lines).await;
    bench.put("queue/a.pdf", PDF);
    let running = bench.start().await;
    bench.until_stage(Stage::Failed, 1).await;
    bench.until("four records", async |bench| bench.records().await.len() == 4).await;
    running.drain().await;
    assert_eq!(fs::read_to_string(home.path().join("runs")).unwrap().lines().count(), 4);
    assert_eq!(fs::read(bench.at("failed/a.pdf")).unwrap(), PDF);
    assert!(!bench.files().iter().any(|name| name.starts_with("result/") || name.starts_with("temp/")));
    for record in bench.records().await {
        assert_eq!(record.code, Code::HandlerFailed);
        assert!(record.failure_reason.contains("exit code 7: no licence"), "{}", record.failure_reason);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_ends_with_the_attempt_that_runs_it() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let lines = r#"sleep 1000 & echo $! > "$2/child.part"; mv "$2/child.part" "$2/child"; wait"#;
    let (bench, home) = bench(&gateway, lines).await;
    bench.put("queue/a.pdf", PDF);
    let running = bench.start().await;
    let child = home.path().join("child");
    bench.until("it runs", async |_| child.exists()).await;
    running.drain().await;
    let pid = fs::read_to_string(&child).unwrap().trim().to_owned();
    let dead = async |_: &Bench| {
        !fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    };
    bench.until("it is dead", dead).await;
    bench
        .until("its folder is gone", async |_| {
            fs::read_dir(home.path().join("scratch")).unwrap().count() == 0
        })
        .await;
}
