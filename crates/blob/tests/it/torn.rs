//! Disks that fail, deny, lose and cut.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use redrive_blob::{BlobError, Blobs, BlobsExt, Folder, Placed, Point, Seam};
use redrive_model::Code;

use crate::child;
use crate::kit::{Kit, files_below, k, noise};

/// Fails a point once, and counts how often it is reached.
struct FailOnce {
    point: Point,
    errno: i32,
    reached: AtomicUsize,
}

impl Seam for FailOnce {
    fn before(&self, point: Point) -> std::io::Result<()> {
        if point == self.point && self.reached.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err(std::io::Error::from_raw_os_error(self.errno));
        }
        Ok(())
    }
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

#[tokio::test]
async fn a_step_that_fails_gives_the_file_up_and_a_new_put_succeeds() {
    let points = [Point::WriteTemp, Point::SyncTemp, Point::Rename, Point::SyncFolder];
    let errors = [(EIO, Code::IoError), (ENOSPC, Code::DiskFull)];
    // What goes through memory, and what goes through a temp from its first block on.
    for size in [1_000, 300_000] {
        for (point, (errno, code)) in points.into_iter().flat_map(|point| errors.map(|error| (point, error)))
        {
            let home = tempfile::tempdir().unwrap();
            let seam = Arc::new(FailOnce { point, errno, reached: AtomicUsize::new(0) });
            let blobs = Folder::open_with(home.path(), Arc::clone(&seam) as _).await.unwrap();
            let error = blobs.put_bytes(&k("a/b"), noise(size, 1)).await.unwrap_err();
            assert_eq!(error.code(), code, "{size} {point:?}: {error:?}");
            assert_eq!(files_below(home.path()), [], "{size} {point:?}: nothing stays, under no name");
            assert_eq!(
                blobs.put_bytes(&k("a/b"), noise(size, 1)).await.unwrap().placed,
                Placed::New,
                "{size} {point:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_failed_sync_is_not_asked_again_about_the_same_file() {
    let home = tempfile::tempdir().unwrap();
    let seam = Arc::new(FailOnce { point: Point::SyncFolder, errno: EIO, reached: AtomicUsize::new(0) });
    let blobs = Folder::open_with(home.path(), Arc::clone(&seam) as _).await.unwrap();
    let mut upload = blobs.begin(10).await.unwrap();
    upload.write("bytes").await.unwrap();
    let mut sealed = upload.seal().await.unwrap();
    assert_eq!(sealed.finish(&k("a")).await.unwrap_err().code(), Code::IoError);
    let again = sealed.finish(&k("a")).await.unwrap_err();
    assert!(matches!(again, BlobError::Io { .. }), "{again:?}");
    assert_eq!(seam.reached.load(Ordering::SeqCst), 1, "no second sync that might lie");
    assert!(blobs.keys(None).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_write_that_failed_is_not_gone_on_with() {
    let home = tempfile::tempdir().unwrap();
    let seam = FailOnce { point: Point::WriteTemp, errno: EIO, reached: AtomicUsize::new(0) };
    let blobs = Folder::open_with(home.path(), Arc::new(seam)).await.unwrap();
    let mut upload = blobs.begin(1 << 20).await.unwrap();
    // It is told by a later call, because the next bytes gather while these are written.
    let mut refused = 0;
    for n in 1..=3 {
        refused += usize::from(upload.write(noise(200_000, n)).await.is_err());
    }
    assert!(refused > 0);
    upload.write(noise(1, 4)).await.unwrap_err();
    upload.finish(&k("a")).await.unwrap_err();
    assert_eq!(files_below(home.path()), []);
}

/// In a child without privileges: a folder that others own.
pub(crate) async fn denied(folder: &Path) {
    let blobs = Folder::open(folder.join("mine")).await.unwrap();
    blobs.put_bytes(&k("locked/a"), "x".into()).await.unwrap();
    let locked = folder.join("mine/locked");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o500)).unwrap();
    let put = blobs.put_bytes(&k("locked/b"), "y".into()).await.unwrap_err();
    std::fs::set_permissions(locked.join("a"), std::fs::Permissions::from_mode(0o0)).unwrap();
    let read = blobs.read(&k("locked/a"), None).await.unwrap_err();
    let delete = blobs.delete(&k("locked/a")).await.unwrap_err();
    for error in [put, read, delete] {
        assert_eq!(error.code(), Code::StorageAccessDenied, "{error:?}");
    }
    assert_eq!(files_below(&folder.join("mine/.redrive-temp")), []);
    let open = Folder::open(folder.join("closed")).await.unwrap_err();
    assert_eq!(open.code(), Code::StorageAccessDenied, "{open:?}");
    println!("all denied");
}

#[test]
fn what_we_may_not_touch_is_denied_and_not_retried() {
    let home = tempfile::tempdir().unwrap();
    let open = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(home.path(), open(0o777)).unwrap();
    let mut command = child::command("denied", home.path());
    if rustix::process::geteuid().is_root() {
        // Root may do everything: somebody else tries, with a copy of this binary that they may run.
        let binary = home.path().join("tests");
        std::fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
        std::fs::set_permissions(&binary, open(0o755)).unwrap();
        let mut other = std::process::Command::new(binary);
        other
            .args(command.get_args())
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        other.uid(65_534).gid(65_534).current_dir("/");
        command = other;
    }
    std::fs::create_dir(home.path().join("closed")).unwrap();
    std::fs::set_permissions(home.path().join("closed"), open(0)).unwrap();
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("all denied"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn a_file_that_vanishes_while_it_is_read_is_read_to_its_end() {
    let kit = Kit::folder().await;
    let bytes = noise(1 << 20, 3);
    kit.put("a/b", bytes.clone()).await;
    let mut reading = kit.blobs.read(&k("a/b"), None).await.unwrap();
    let mut got = reading.bytes.next().await.unwrap().unwrap().to_vec();
    kit.blobs.delete(&k("a/b")).await.unwrap();
    while let Some(chunk) = reading.bytes.next().await {
        got.extend_from_slice(&chunk.unwrap());
    }
    assert_eq!(got, bytes);
}

#[tokio::test]
async fn a_file_that_becomes_shorter_while_it_is_read_is_damaged_not_short() {
    let kit = Kit::folder().await;
    kit.put("a", noise(1 << 20, 3)).await;
    let mut reading = kit.blobs.read(&k("a"), None).await.unwrap();
    reading.bytes.next().await.unwrap().unwrap();
    let file = std::fs::File::options().write(true).open(kit.files.as_ref().unwrap().join("a")).unwrap();
    file.set_len(200_000).unwrap();
    let rest: Vec<_> = reading.bytes.collect().await;
    assert!(matches!(rest.last(), Some(Err(BlobError::Corrupt { .. }))), "{:?}", rest.last());
}

#[tokio::test]
async fn a_bit_that_flips_on_the_disk_is_found() {
    let kit = Kit::folder().await;
    let stored = kit.put("a", noise(100_000, 3)).await;
    let file = kit.files.as_ref().unwrap().join("a");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[70_000] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let error = kit.blobs.verify(&k("a"), &stored.sha256).await.unwrap_err();
    assert_eq!(error.code(), Code::ResultCorrupt);
    let put = kit.blobs.put_bytes(&k("a"), noise(100_000, 3)).await.unwrap_err();
    assert!(matches!(put, BlobError::AlreadyExists { .. }), "a damaged file is not adopted: {put:?}");
}

#[tokio::test]
async fn files_are_for_their_owner_alone() {
    let kit = Kit::folder().await;
    kit.put("a/b/c", "x").await;
    let root = kit.files.clone().unwrap();
    let mode = |path: &str| std::fs::symlink_metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode(""), mode("a"), mode("a/b"), mode(".redrive-temp")], [0o700; 4]);
    assert_eq!(mode("a/b/c"), 0o600);
}

#[tokio::test]
async fn empty_folders_do_not_pile_up() {
    let kit = Kit::folder().await;
    kit.put("a/b/c", "x").await;
    kit.put("a/d", "y").await;
    kit.blobs.delete(&k("a/b/c")).await.unwrap();
    let root = kit.files.as_ref().unwrap();
    assert!(!root.join("a/b").exists() && root.join("a/d").exists());
}

/// Removals prune the folders that puts are about to use.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn puts_and_deletes_in_one_folder_do_not_disturb_each_other() {
    let kit = Arc::new(Kit::folder().await);
    let tasks = (0..8).map(|task| {
        let kit = Arc::clone(&kit);
        tokio::spawn(async move {
            for n in 0..60 {
                let key = format!("shared/{}/{task}-{n}", n % 3);
                kit.put(&key, key.clone()).await;
                assert_eq!(kit.get(&key).await, key.as_bytes());
                kit.blobs.delete(&k(&key)).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(files_below(kit.files.as_ref().unwrap()), []);
}

/// Different bytes under one key, all at once: one of them wins, and it is whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twenty_different_puts_one_wins_and_the_others_are_told() {
    let kit = Kit::folder().await;
    let key = k("once");
    let puts = (0..20).map(|n| kit.blobs.put_bytes(&key, noise(100_000, n)));
    let answers = futures::future::join_all(puts).await;
    let won: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
    assert_eq!(won.len(), 1);
    for lost in answers.iter().filter_map(|answer| answer.as_ref().err()) {
        assert!(
            matches!(lost, BlobError::AlreadyExists { there, .. } if *there == won[0].sha256),
            "{lost:?}"
        );
    }
    kit.blobs.verify(&key, &won[0].sha256).await.unwrap();
    assert_eq!(kit.temps().await, 0);
}
