//! Links planted under the root lead nowhere.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use redrive_blob::{BlobError, BlobsExt, Folder, Point, Removed, Seam};
use redrive_model::Code;
use tempfile::TempDir;

use crate::kit::{Kit, k};

struct Planted {
    kit: Kit,
    root: PathBuf,
    outside: TempDir,
}

async fn planted() -> Planted {
    let kit = Kit::folder().await;
    let root = kit.files.clone().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    Planted { kit, root, outside }
}

impl Planted {
    fn outside_is_as_it_was(&self) {
        let names: Vec<_> =
            std::fs::read_dir(self.outside.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["secret"]);
        assert_eq!(std::fs::read(self.outside.path().join("secret")).unwrap(), b"secret");
    }
}

fn refused<T: std::fmt::Debug>(answer: Result<T, BlobError>) {
    let error = answer.unwrap_err();
    assert_eq!(error.code(), Code::StorageAccessDenied, "{error:?}");
}

#[tokio::test]
async fn a_link_to_a_file_is_not_followed() {
    let p = planted().await;
    symlink(p.outside.path().join("secret"), p.root.join("link")).unwrap();
    let key = k("link");
    refused(p.kit.blobs.read(&key, None).await);
    refused(p.kit.blobs.head(&key).await);
    refused(p.kit.blobs.put_bytes(&key, "x".into()).await);
    refused(p.kit.blobs.put_bytes(&key, "secret".into()).await);
    refused(p.kit.blobs.delete_older(&key, crate::kit::later(60)).await);
    assert_eq!(p.kit.keys().await, [""; 0]);
    assert!(
        matches!(p.kit.blobs.delete(&key).await.unwrap(), Removed::Gone { .. }),
        "the link itself may go"
    );
    p.outside_is_as_it_was();
}

#[tokio::test]
async fn a_link_to_a_folder_is_not_followed() {
    let p = planted().await;
    symlink(p.outside.path(), p.root.join("dir")).unwrap();
    refused(p.kit.blobs.read(&k("dir/secret"), None).await);
    refused(p.kit.blobs.put_bytes(&k("dir/new"), "x".into()).await);
    refused(p.kit.blobs.put_bytes(&k("dir/sub/new"), "x".into()).await);
    refused(p.kit.blobs.delete(&k("dir/secret")).await);
    refused(p.kit.blobs.keys(Some(&k("dir"))).await);
    assert_eq!(p.kit.keys().await, [""; 0]);
    p.outside_is_as_it_was();
}

#[tokio::test]
async fn a_link_that_leads_nowhere_makes_nothing_there() {
    let p = planted().await;
    symlink(p.outside.path().join("not-yet"), p.root.join("link")).unwrap();
    symlink(p.outside.path().join("no-folder"), p.root.join("dir")).unwrap();
    refused(p.kit.blobs.put_bytes(&k("link"), "x".into()).await);
    refused(p.kit.blobs.put_bytes(&k("dir/x"), "x".into()).await);
    refused(p.kit.blobs.read(&k("link"), None).await);
    p.outside_is_as_it_was();
}

#[tokio::test]
async fn a_link_inside_the_root_is_refused_too() {
    let p = planted().await;
    p.kit.put("real/a", "x").await;
    symlink("real", p.root.join("alias")).unwrap();
    refused(p.kit.blobs.read(&k("alias/a"), None).await);
    assert_eq!(p.kit.keys().await, ["real/a"]);
}

#[tokio::test]
async fn a_temp_folder_that_is_a_link_stops_uploads() {
    let p = planted().await;
    std::fs::remove_dir(p.root.join(".redrive-temp")).unwrap();
    symlink(p.outside.path(), p.root.join(".redrive-temp")).unwrap();
    refused(p.kit.blobs.put_bytes(&k("small"), "x".into()).await);
    refused(p.kit.blobs.put_bytes(&k("large"), crate::kit::noise(300_000, 1)).await);
    refused(p.kit.blobs.sweep_temps(crate::kit::later(60), 10).await);
    p.outside_is_as_it_was();
}

/// Swaps a folder of the way for a link, between the walk and the rename.
struct Swap {
    root: PathBuf,
    outside: PathBuf,
}

impl Seam for Swap {
    fn before(&self, point: Point) -> std::io::Result<()> {
        if point == Point::Rename && self.root.join("dir").is_dir() {
            std::fs::rename(self.root.join("dir"), self.root.join("aside"))?;
            symlink(&self.outside, self.root.join("dir"))?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_folder_that_is_swapped_for_a_link_in_between_leads_nowhere() {
    let p = planted().await;
    let seam = Swap { root: p.root.clone(), outside: p.outside.path().to_owned() };
    let blobs = Folder::open_with(&p.root, Arc::new(seam)).await.unwrap();
    // The folder was open before the swap: the file goes into it, wherever it is called now.
    blobs.put_bytes(&k("dir/file"), "x".into()).await.unwrap();
    assert_eq!(std::fs::read(p.root.join("aside/file")).unwrap(), b"x");
    p.outside_is_as_it_was();
}

#[tokio::test]
async fn pipes_and_folders_are_no_artifacts_and_nothing_waits_for_them() {
    let p = planted().await;
    let made = std::process::Command::new("mkfifo").arg(p.root.join("pipe")).status().unwrap();
    assert!(made.success());
    let read = p.kit.blobs.read(&k("pipe"), None).await.unwrap_err();
    assert!(matches!(read, BlobError::Io { .. }), "{read:?}");
    p.kit.put("folder/x", "x").await;
    let put = p.kit.blobs.put_bytes(&k("folder"), "y".into()).await.unwrap_err();
    assert_eq!(put.code(), Code::StorageAccessDenied, "{put:?}");
    let put = p.kit.blobs.put_bytes(&k("folder/x/y"), "y".into()).await.unwrap_err();
    assert_eq!(put.code(), Code::StorageAccessDenied, "{put:?}");
    assert_eq!(p.kit.keys().await, ["folder/x"]);
}
