//! A million lines with flat memory, measured in a process of its own.

use std::convert::Infallible;
use std::process::{Command, Stdio};
use std::time::Instant;

use bytes::Bytes;
use futures::stream;

use super::kit::{Kit, NDJSON, of_ann, setting};

const TASK: &str = "REDRIVE_TEST_CHILD_MANIFEST";
const MEGABYTE: usize = 1 << 20;

fn status(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// Lines as they come from a socket, in pieces of some 64 KiB.
fn lines(count: usize) -> impl Iterator<Item = Result<Bytes, Infallible>> + Send {
    (0..count.div_ceil(500)).map(move |part| {
        let numbers = part * 500..count.min((part + 1) * 500);
        let line = |n| {
            format!("{{\"id\":\"picture-{n}\",\"url\":\"https://images.example/{n:08}/original.jpg?signature=0123456789abcdef\"}}\n")
        };
        Ok(Bytes::from(numbers.map(line).collect::<String>()))
    })
}

/// Reads so many lines and says what that took.
#[tokio::test(flavor = "multi_thread")]
async fn reads_as_many_lines_as_it_is_told() {
    let Some(count) = setting(TASK) else { return };
    let count: usize = count.parse().unwrap();
    let kit = Kit::new().await;
    let (before, began) = (status("VmRSS"), Instant::now());
    let body = stream::iter(lines(count));
    let received = kit.manifests.receive::<_, Infallible>(body, NDJSON, &of_ann(None)).await.unwrap();
    assert_eq!(received.count() as usize, count);
    println!("took {:?}", began.elapsed());
    println!("grew by {}", status("VmHWM").saturating_sub(before));
}

fn grows_by(count: usize) -> usize {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "manifest::memory::reads_as_many_lines_as_it_is_told", "--nocapture"]);
    let output = command.env(TASK, count.to_string()).stdout(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let grown = said.lines().find_map(|line| line.split("grew by ").nth(1));
    grown.unwrap_or_else(|| panic!("{said}")).parse().unwrap()
}

/// They have 20 MB; what is held before it is spilled is 8.
#[test]
fn two_hundred_thousand_lines_are_read_with_flat_memory() {
    let grown = grows_by(200_000);
    assert!(grown < 32 * MEGABYTE, "{grown}");
}

/// They have 100 MB; the hashes of a million ids have 27 when they move.
#[test]
fn long_a_million_lines_are_read_with_flat_memory() {
    let grown = grows_by(1_000_000);
    assert!(grown < 64 * MEGABYTE, "{grown}");
}
