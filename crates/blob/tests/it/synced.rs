//! What the kernel is really asked, and what happens when the kernel itself says no: by strace, without any seam of ours.

use std::path::Path;
use std::process::Command;

use redrive_blob::shelf::{FolderShelf, Meta, Shelf};
use redrive_blob::{BlobsExt, Folder};

use crate::child;
use crate::kit::{files_below, k, noise};

/// What goes through memory, and what goes through a temp from its first block on.
const SIZES: [usize; 2] = [1_000, 300_000];

/// In the child: one put two folders deep, and what came of it.
pub(crate) async fn put(folder: &Path, bytes: usize) {
    let blobs = Folder::open(folder).await.unwrap();
    match blobs.put_bytes(&k("a/b/file"), noise(bytes, 1)).await {
        Ok(stored) => println!("stored {:?}", stored.placed),
        Err(error) => println!("failed {}", error.code()),
    }
}

/// In the child: puts into a folder that is there, one more into the same, and one more after somebody has removed it and made it again.
pub(crate) async fn put_again(folder: &Path) {
    let blobs = Folder::open(folder).await.unwrap();
    for name in ["a/b/first", "a/b/second"] {
        blobs.put_bytes(&k(name), noise(1_000, 1)).await.unwrap();
    }
    std::fs::remove_dir_all(folder.join("a/b")).unwrap();
    blobs.put_bytes(&k("a/b/third"), noise(1_000, 1)).await.unwrap();
    println!("stored all");
}

/// In the child: a file of a person's goes from one folder to another that is made for it.
pub(crate) async fn relocate(folder: &Path) {
    let shelf = FolderShelf::open(folder).await.unwrap();
    let (item, _) = shelf.look(&k("queue/team/a.pdf")).await.unwrap().unwrap();
    match shelf.relocate(&item.key, &item.version, &k("pdf/team/a.pdf"), &Meta::new()).await {
        Ok(moved) => println!("moved {moved:?}"),
        Err(error) => println!("failed {}", error.code()),
    }
}

/// Runs the child under strace and answers with what it said and which calls it made; `None` without strace.
fn traced(task: &str, folder: &Path, arguments: &[&str]) -> Option<(String, Vec<String>)> {
    // The root exists, so that opening it syncs nothing.
    std::fs::create_dir_all(folder).unwrap();
    let trace = tempfile::NamedTempFile::new().unwrap();
    let child = child::command(task, folder);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-e", "trace=fsync,fdatasync,renameat2,linkat,unlinkat"]).args(arguments);
    strace.arg("-o").arg(trace.path()).arg(child.get_program()).args(child.get_args());
    strace.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = match strace.output() {
        Ok(output) if output.status.success() => output,
        _ => {
            println!("this process may not trace another one: skipped");
            return None;
        }
    };
    let calls = std::fs::read_to_string(trace.path()).unwrap();
    let calls = calls.lines().filter_map(|line| Some(line.split_once(' ')?.1.trim().to_owned()));
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), calls.collect()))
}

#[test]
fn a_file_is_synced_before_it_has_its_name_and_every_folder_after() {
    for size in SIZES {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        let Some((said, calls)) = traced(&format!("put {size}"), &root, &[]) else { return };
        assert!(said.contains("stored New"), "{said}");
        let place = |call: &str, path: &str| {
            let found = calls.iter().position(|made| made.starts_with(call) && made.contains(path));
            found.unwrap_or_else(|| panic!("no {call} of {path} in {calls:#?}"))
        };
        let root = root.to_str().unwrap();
        let synced = place("fsync(", "/.redrive-temp/");
        let renamed = place("renameat2(", "RENAME_NOREPLACE");
        let folders = [
            place("fsync(", &format!("{root}/a/b>")),
            place("fsync(", &format!("{root}/a>")),
            place("fsync(", &format!("{root}>")),
        ];
        assert!(synced < renamed, "{calls:#?}");
        assert!(folders.iter().all(|folder| *folder > renamed), "{calls:#?}");
    }
}

/// A name that is known to last is not synced again; one that was made again is.
#[test]
fn folders_above_are_synced_once_and_again_when_they_are_made_again() {
    let home = tempfile::tempdir().unwrap();
    // They are older than what is put into them, whatever the steps of the file system's clock are.
    std::fs::create_dir_all(home.path().join("a/b")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    let Some((said, calls)) = traced("put-again", home.path(), &[]) else { return };
    assert!(said.contains("stored all"), "{said}");
    let renames: Vec<usize> =
        (0..calls.len()).filter(|n| calls[*n].starts_with("renameat2(")).chain([calls.len()]).collect();
    let synced = |put: usize, folder: &str| {
        let path = home.path().join(folder);
        let path = format!("<{}>", path.to_str().unwrap().trim_end_matches('/'));
        let calls = &calls[renames[put]..renames[put + 1]];
        calls.iter().filter(|call| call.starts_with("fsync(") && call.contains(&path)).count()
    };
    let births = rustix::fs::statx(
        rustix::fs::CWD,
        home.path(),
        rustix::fs::AtFlags::empty(),
        rustix::fs::StatxFlags::BTIME,
    );
    let told = births.is_ok_and(|stat| stat.stx_mask & rustix::fs::StatxFlags::BTIME.bits() != 0);
    let known = usize::from(!told);
    assert_eq!([synced(0, "a/b"), synced(0, "a"), synced(0, "")], [1, 1, 1], "{calls:#?}");
    assert_eq!([synced(1, "a/b"), synced(1, "a"), synced(1, "")], [1, known, known], "{calls:#?}");
    assert_eq!([synced(2, "a/b"), synced(2, "a"), synced(2, "")], [1, 1, known], "{calls:#?}");
}

/// The temp, then each folder: whichever sync fails, nothing has the name and nobody was told yes.
///
/// Also covers: M45.
#[test]
fn a_sync_that_the_kernel_fails_is_never_told_as_success() {
    let faults = [
        (None, "EIO", "IO_ERROR"),
        (None, "ENOSPC", "DISK_FULL"),
        (Some("a/b"), "EIO", "IO_ERROR"),
        (Some("a"), "EIO", "IO_ERROR"),
        (Some(""), "EDQUOT", "DISK_FULL"),
    ];
    for (size, (folder, errno, code)) in SIZES.into_iter().flat_map(|size| faults.map(|fault| (size, fault)))
    {
        let home = tempfile::tempdir().unwrap();
        let fault = format!("inject=fsync:error={errno}");
        let mut arguments = vec!["-e", &fault];
        // Only calls on this folder are failed; without one, the first sync is the temp's.
        let path = folder.map(|folder| home.path().join(folder));
        if let Some(path) = &path {
            arguments.extend(["-P", path.to_str().unwrap().trim_end_matches('/')]);
        }
        let Some((said, calls)) = traced(&format!("put {size}"), home.path(), &arguments) else { return };
        assert!(said.contains(&format!("failed {code}")), "{folder:?} {errno}: {said} {calls:#?}");
        assert_eq!(files_below(home.path()), [], "{folder:?} {errno}");
        let failed =
            calls.iter().filter(|call| call.starts_with("fsync(") && call.contains("INJECTED")).count();
        assert_eq!(failed, 1, "a failed sync is not tried again: {calls:#?}");
    }
}

/// Both ends of a move, and what was made for it: none of it may be forgotten by a power cut once it was told. A sync that fails is told.
#[test]
fn a_move_is_synced_at_both_ends_before_it_is_told() {
    let home = || {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("queue/team")).unwrap();
        std::fs::write(home.path().join("queue/team/a.pdf"), noise(1_000, 1)).unwrap();
        home
    };
    let folders = ["queue/team", "pdf/team", "pdf", ""];
    let path =
        |home: &Path, folder: &str| home.join(folder).to_str().unwrap().trim_end_matches('/').to_owned();
    let fine = home();
    let Some((said, calls)) = traced("relocate", fine.path(), &[]) else { return };
    assert!(said.contains("moved Done"), "{said}");
    let renamed = calls.iter().position(|call| call.starts_with("renameat2(")).unwrap();
    for folder in folders {
        let synced = format!("<{}>", path(fine.path(), folder));
        let after = calls[renamed..].iter().any(|call| call.starts_with("fsync(") && call.contains(&synced));
        assert!(after, "{folder}: {calls:#?}");
    }
    for folder in ["queue/team", "pdf/team"] {
        let home = home();
        let path = path(home.path(), folder);
        let fault = ["-e", "inject=fsync:error=EIO", "-P", &path];
        let Some((said, _)) = traced("relocate", home.path(), &fault) else { return };
        assert!(said.contains("failed IO_ERROR"), "{folder}: {said}");
        assert_eq!(files_below(home.path()).len(), 1, "it is at one of the two places");
    }
}

/// File systems without a rename that replaces nothing: a second name and the removal of the first do.
#[test]
fn without_the_rename_a_link_does_it() {
    let home = tempfile::tempdir().unwrap();
    let fault = ["-e", "inject=renameat2:error=EINVAL"];
    let Some((said, calls)) = traced("put 1000", home.path(), &fault) else { return };
    assert!(said.contains("stored New"), "{said}");
    assert!(calls.iter().any(|call| call.starts_with("linkat(")), "{calls:#?}");
    let files = files_below(home.path());
    assert_eq!(files, [(home.path().join("a/b/file"), 1_000)]);
    let Some((said, _)) = traced("put 1000", home.path(), &fault) else { return };
    assert!(said.contains("stored Adopted"), "{said}");
}
