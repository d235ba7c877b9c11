//! A hundred uploads at once hold a bounded amount of memory. Measured in a process of its own.

use std::path::Path;

use bytes::Bytes;
use futures::future::join_all;
use futures::stream;
use redrive_blob::{Blobs, BlobsExt, Folder, S3};

use crate::child;
use crate::fake_s3::Fake;
use crate::kit::{k, settings};

const MEGABYTE: usize = 1 << 20;
const AT_ONCE: usize = 100;

fn status(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// A hundred puts of so many megabytes each, in pieces as they come from a socket.
async fn many(blobs: &dyn Blobs, megabytes: usize) {
    let before = status("VmRSS");
    let piece = Bytes::from(vec![7_u8; 16 * 1024]);
    let puts = (0..AT_ONCE).map(|n| {
        let (key, piece) = (k(&format!("many/{n}")), piece.clone());
        async move {
            let pieces = (0..megabytes * MEGABYTE / piece.len()).map(|_| Ok::<_, ()>(piece.clone()));
            let stored = blobs.put(&key, stream::iter(pieces), u64::MAX).await.unwrap();
            assert_eq!(stored.bytes, (megabytes * MEGABYTE) as u64);
        }
    });
    join_all(puts).await;
    println!("grew by {}", status("VmHWM").saturating_sub(before));
}

pub(crate) async fn many_on_folder(folder: &Path, megabytes: usize) {
    let blobs = Folder::open(folder.join("files")).await.unwrap();
    many(&blobs, megabytes).await;
}

/// The fake lives in the same process and throws bodies away; what it holds is counted too.
pub(crate) async fn many_on_s3(folder: &Path, megabytes: usize) {
    let fake = Fake::forgetful().await;
    let s3 = S3::open(settings(&fake.url, "bucket", folder)).await.unwrap();
    many(&s3, megabytes).await;
}

fn grows_by(task: &str, megabytes: usize) -> usize {
    let home = tempfile::tempdir().unwrap();
    let output = child::command(&format!("{task} {megabytes}"), home.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let grown = said.lines().find_map(|line| line.split("grew by ").nth(1));
    grown.unwrap_or_else(|| panic!("{said}{}", String::from_utf8_lossy(&output.stderr))).parse().unwrap()
}

fn stays_small(task: &str, megabytes: usize) {
    let grown = grows_by(task, megabytes);
    println!("{AT_ONCE} puts of {megabytes} MB ({task}) grew memory by {} MB", grown / MEGABYTE);
    assert!(grown < 100 * MEGABYTE, "{grown}");
}

#[test]
fn a_hundred_puts_at_once_on_a_folder_stay_small() {
    stays_small("many-folder", 4);
}

#[test]
fn a_hundred_puts_at_once_on_a_bucket_stay_small() {
    stays_small("many-s3", 6);
}

#[test]
fn long_a_hundred_puts_of_fifty_megabytes_on_a_folder_stay_small() {
    stays_small("many-folder", 50);
}

#[test]
fn long_a_hundred_puts_of_fifty_megabytes_on_a_bucket_stay_small() {
    stays_small("many-s3", 50);
}
