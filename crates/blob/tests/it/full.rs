//! A disk that is really full: a small one is mounted. Without the right to mount these say so and skip.

use std::path::{Path, PathBuf};
use std::process::Command;

use redrive_blob::room::{self, Room};
use redrive_blob::{BlobError, Blobs, BlobsExt, Folder, Placed};
use redrive_model::Code;

use crate::kit::{files_below, k, noise, settings};

/// A disk of a few megabytes, unmounted when it is dropped.
struct SmallDisk {
    at: PathBuf,
    _home: tempfile::TempDir,
}

impl SmallDisk {
    fn mount(options: &str) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().join("disk");
        std::fs::create_dir(&at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&at).output();
        if !mounted.is_ok_and(|mounted| mounted.status.success()) {
            println!("this process may not mount a small disk: skipped");
            return None;
        }
        Some(Self { at, _home: home })
    }

    fn remount(&self, options: &str) {
        let done =
            Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.at).status().unwrap();
        assert!(done.success());
    }

    fn path(&self) -> &Path {
        &self.at
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

/// Also covers: M45.
#[tokio::test]
async fn a_full_disk_is_said_leaves_nothing_and_passes() {
    let Some(disk) = SmallDisk::mount("size=4m") else { return };
    let blobs = Folder::open(disk.path()).await.unwrap();
    blobs.put_bytes(&k("before"), noise(1 << 20, 1)).await.unwrap();
    for _ in 0..3 {
        let error = blobs.put_bytes(&k("large"), noise(8 << 20, 2)).await.unwrap_err();
        assert!(matches!(error, BlobError::Full), "{error:?}");
        assert_eq!(error.code(), Code::DiskFull);
        assert_eq!(files_below(disk.path()).len(), 1, "the temp is gone");
    }
    assert_eq!(
        blobs.hash(&k("before")).await.unwrap(),
        redrive_blob::Sha256::of(&noise(1 << 20, 1)),
        "reads go on"
    );
    disk.remount("size=16m");
    assert_eq!(blobs.put_bytes(&k("large"), noise(8 << 20, 2)).await.unwrap().placed, Placed::New);
}

#[tokio::test]
async fn a_disk_without_inodes_is_full_and_has_no_room() {
    let Some(disk) = SmallDisk::mount("size=4m,nr_inodes=6") else { return };
    let blobs = Folder::open(disk.path()).await.unwrap();
    let mut error = None;
    for n in 0..10 {
        if let Err(e) = blobs.put_bytes(&k(&format!("f{n}")), "x".into()).await {
            error = Some(e);
            break;
        }
    }
    assert!(matches!(error, Some(BlobError::Full)), "{error:?}");
    assert_eq!(room::free(disk.path()).unwrap(), 0);
    assert_eq!(blobs.free().await.unwrap(), Some(0));
}

#[tokio::test]
async fn a_disk_that_became_read_only_denies() {
    let Some(disk) = SmallDisk::mount("size=4m") else { return };
    let blobs = Folder::open(disk.path()).await.unwrap();
    blobs.put_bytes(&k("a"), "x".into()).await.unwrap();
    disk.remount("ro");
    for error in
        [blobs.put_bytes(&k("b"), "y".into()).await.unwrap_err(), blobs.delete(&k("a")).await.unwrap_err()]
    {
        assert_eq!(error.code(), Code::StorageAccessDenied, "{error:?}");
    }
    blobs.head(&k("a")).await.unwrap();
}

#[tokio::test]
async fn room_is_measured_and_refused_before_the_disk_is_full() {
    let Some(disk) = SmallDisk::mount("size=4m") else { return };
    let blobs = Folder::open(disk.path()).await.unwrap();
    let free = blobs.free().await.unwrap().unwrap();
    assert!(free > 3 << 20 && free <= 4 << 20, "{free}");
    let limits = Room { soft: 2 << 20, hard: 1 << 20 };
    assert_eq!(limits.check(free, 0).unwrap(), room::Space::Plenty);
    blobs.put_bytes(&k("a"), noise(5 << 19, 1)).await.unwrap();
    let free = blobs.free().await.unwrap().unwrap();
    assert_eq!(limits.check(free, 0).unwrap(), room::Space::Low);
    assert!(matches!(limits.check(free, 1 << 20), Err(BlobError::Full)));
}

#[tokio::test]
async fn a_full_spool_is_a_full_disk() {
    let Some(disk) = SmallDisk::mount("size=4m") else { return };
    let fake = crate::fake_s3::Fake::start().await;
    let s3 = redrive_blob::S3::open(settings(&fake.url, "bucket", disk.path())).await.unwrap();
    let error = s3.put_bytes(&k("large"), noise(8 << 20, 2)).await.unwrap_err();
    assert!(matches!(error, BlobError::Full), "{error:?}");
    assert_eq!(files_below(disk.path()), []);
}
