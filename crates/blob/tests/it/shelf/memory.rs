//! Ten thousand files are listed page by page: what is held does not grow with them. Measured in a process of its own.

use std::path::Path;

use futures::TryStreamExt;
use redrive_blob::shelf::{BucketShelf, FolderShelf, Shelf};

use crate::child;
use crate::fake_s3::Fake;
use crate::kit::{k, settings};

const FILES: usize = 10_000;

fn status(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
}

async fn list(shelf: &dyn Shelf) {
    // Once to warm up what is used anyway, then several times: a list that hoards would show.
    let mut seen = shelf.list(&k("queue")).try_fold(0, |n, _| async move { Ok(n + 1) }).await.unwrap();
    assert_eq!(seen, FILES);
    let before = status("VmRSS");
    for _ in 0..3 {
        let mut items = shelf.list(&k("queue"));
        while let Some(item) = items.try_next().await.unwrap() {
            assert!(!item.version.is_empty());
            seen += 1;
        }
    }
    assert_eq!(seen, 4 * FILES);
    println!("listing grew by {}", status("VmRSS").saturating_sub(before));
}

pub(crate) async fn list_folder(folder: &Path) {
    for n in 0..FILES {
        let inner = folder.join(format!("queue/{}", n % 100));
        if n < 100 {
            std::fs::create_dir_all(&inner).unwrap();
        }
        std::fs::write(inner.join(format!("{n}.pdf")), "x").unwrap();
    }
    list(&FolderShelf::open(folder).await.unwrap()).await;
}

pub(crate) async fn list_bucket(folder: &Path) {
    let fake = Fake::start().await;
    for n in 0..FILES {
        fake.plant(&format!("pre/fix/queue/{n:05}.pdf"), b"x");
    }
    let shelf = BucketShelf::open(settings(&fake.url, "bucket", folder)).await.unwrap();
    fake.forget();
    list(&shelf).await;
    assert_eq!(fake.calls("LIST"), 4 * FILES.div_ceil(1_000), "a thousand to a page");
    assert_eq!(fake.calls("HEAD"), 0, "a list is enough");
}

fn stays_flat(task: &str) {
    let home = tempfile::tempdir().unwrap();
    let output = child::command(&format!("{task} "), home.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let grown: usize =
        said.lines().find_map(|line| line.split("listing grew by ").nth(1)).unwrap().parse().unwrap();
    assert!(grown < 4 * 1024, "{grown} KiB");
}

#[test]
fn ten_thousand_files_are_listed_page_by_page() {
    stays_flat("list-folder");
}

#[test]
fn ten_thousand_objects_are_listed_page_by_page() {
    stays_flat("list-bucket");
}
