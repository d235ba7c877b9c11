//! No room on the disk: said as such, nothing half written, reads go on, and room again is enough to go on.

use std::path::Path;
use std::process::Command;

use futures::future::join_all;
use redrive_model::State;
use redrive_store::{Enqueue, NewJob, StoreError};
use redrive_store_conformance::{Harness, Kit};
use tempfile::TempDir;

use crate::harness::{self, Sqlite, file_in};

/// Says how many pages the file may have; `None` takes the limit away.
async fn limit_pages(h: &Sqlite, more: Option<i64>) {
    let set = h.store.transaction(move |tx| {
        let conn = tx.connection();
        let pages: i64 = conn.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        let most = more.map_or(1 << 30, |more| pages + more);
        let now: i64 =
            conn.query_row(&format!("PRAGMA max_page_count = {most}"), [], |row| row.get(0)).unwrap();
        assert_eq!(now, most);
        Ok(())
    });
    set.await.unwrap();
}

fn large(k: &Kit<'_>) -> NewJob {
    NewJob { input: vec![7; 100_000], ..k.job() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o3_a_full_disk_is_said_and_passes() {
    let h = harness::file().await;
    let k = Kit::new(&h);
    k.put_n(5).await;
    let claimed = k.claim(2).await;
    limit_pages(&h, Some(2)).await;
    for _ in 0..3 {
        let answer = k.store.enqueue(Enqueue::jobs(vec![k.job(), large(&k), k.job()])).await;
        assert!(matches!(answer, Err(StoreError::Full)), "{answer:?}");
    }
    assert!(StoreError::Full.is_temporary());
    assert_eq!(
        k.store.counts().await.unwrap().total(State::Queued),
        3,
        "nothing of the refused calls is there"
    );
    k.audit().await;
    limit_pages(&h, None).await;
    k.put(vec![large(&k)]).await;
    k.complete(&claimed[0]).await;
    assert_eq!(k.claim(9).await.len(), 4);
    k.audit().await;
    let check = h.store.transaction(|tx| {
        Ok(tx
            .connection()
            .pragma_query_value(None, "integrity_check", |row| row.get::<_, String>(0))
            .unwrap())
    });
    assert_eq!(check.await.unwrap(), "ok");
}

/// A full disk in the middle of a group: whoever was answered well is there, whoever was not is not, and counts agree.
///
/// Also covers: M28.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_in_a_group_leaves_no_half_answers() {
    let h = harness::file().await;
    let k = Kit::new(&h);
    k.put_n(5).await;
    for more in [2, 5, 40, 60] {
        limit_pages(&h, Some(more)).await;
        let jobs: Vec<NewJob> = (0..40).map(|n| if n % 4 == 1 { large(&k) } else { k.job() }).collect();
        let ids: Vec<_> = jobs.iter().map(|job| job.id).collect();
        let answers = join_all(jobs.into_iter().map(|job| k.store.enqueue(Enqueue::jobs(vec![job])))).await;
        assert!(answers.iter().any(Result::is_err), "there was room for all: {more}");
        for (id, answer) in ids.iter().zip(&answers) {
            let there = k.store.job(*id).await.unwrap().is_some();
            match answer {
                Ok(_) => assert!(there, "answered well and gone"),
                Err(StoreError::Full) => assert!(!there, "answered with an error and there"),
                Err(other) => panic!("{other:?}"),
            }
        }
        limit_pages(&h, None).await;
        k.audit().await;
    }
    k.put_n(5).await;
    k.audit().await;
}

/// A file system of a few megabytes that is unmounted at the end.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None` where this process may not mount.
    fn mount() -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let done =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(folder.path()).output();
        done.ok().filter(|output| output.status.success()).map(|_| Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

/// Also covers: M28.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o3_a_disk_that_is_really_full_is_said_and_passes() {
    let Some(disk) = SmallDisk::mount() else {
        println!("this process may not mount a small disk: skipped");
        return;
    };
    let folder = TempDir::new_in(disk.path()).unwrap();
    let h = Sqlite::at(&file_in(&folder)).await.unwrap();
    let k = Kit::new(&h);
    k.put_n(5).await;
    // Something else on the same disk takes what is left.
    let ballast = disk.path().join("ballast");
    let taken =
        Command::new("dd").arg("if=/dev/zero").arg(format!("of={}", ballast.display())).arg("bs=4k").output();
    assert!(!taken.unwrap().status.success(), "the disk never got full");
    let mut said = None;
    for _ in 0..200 {
        match k.store.enqueue(Enqueue::jobs(vec![large(&k)])).await {
            Ok(_) => {}
            Err(error) => {
                said = Some(error);
                break;
            }
        }
    }
    assert!(matches!(said, Some(StoreError::Full)), "{said:?}");
    k.audit().await;
    std::fs::remove_file(ballast).unwrap();
    k.put_n(5).await;
    assert!(k.claim(10).await.len() >= 10);
    k.audit().await;
    h.advance(std::time::Duration::from_secs(1)).await;
    drop(k);
    drop(h);
}
