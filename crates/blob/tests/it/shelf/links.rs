//! Links planted on a shelf lead nowhere, and what is swapped in during a move comes back.

use std::os::unix::fs::symlink;

use futures::TryStreamExt;
use redrive_blob::shelf::{Meta, MovePoint, Relocated};
use redrive_model::Code;

use super::kit::Kit;
use crate::kit::k;

const A: &[u8] = b"%PDF-1.7 the first";

async fn planted() -> (Kit, tempfile::TempDir) {
    let kit = Kit::folder().await;
    kit.person.put("queue/a.pdf", A).await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.pdf"), "secret").unwrap();
    (kit, outside)
}

fn is_as_it_was(outside: &tempfile::TempDir) {
    let names: Vec<_> =
        std::fs::read_dir(outside.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["secret.pdf"]);
    assert_eq!(std::fs::read(outside.path().join("secret.pdf")).unwrap(), b"secret");
}

async fn refused(kit: &Kit, from: &str, version: &str, to: &str) {
    let answer = kit.shelf.relocate(&k(from), &version.to_owned(), &k(to), &Meta::new()).await;
    assert_eq!(answer.unwrap_err().code(), Code::StorageAccessDenied);
}

#[tokio::test(flavor = "multi_thread")]
async fn links_are_not_listed_opened_or_moved() {
    let (kit, outside) = planted().await;
    symlink(outside.path().join("secret.pdf"), kit.root().join("queue/link.pdf")).unwrap();
    symlink(outside.path(), kit.root().join("queue/folder")).unwrap();
    let items: Vec<_> = kit.shelf.list(&k("queue")).try_collect().await.unwrap();
    assert_eq!(items.iter().map(|item| item.key.as_str()).collect::<Vec<_>>(), ["queue/a.pdf"]);
    for key in ["queue/link.pdf", "queue/folder/secret.pdf"] {
        assert_eq!(kit.shelf.look(&k(key)).await.unwrap_err().code(), Code::StorageAccessDenied);
        assert_eq!(kit.shelf.open(&k(key)).await.unwrap_err().code(), Code::StorageAccessDenied);
        refused(&kit, key, "6-0", "pdf/b.pdf").await;
    }
    assert_eq!(kit.person.get("pdf/b.pdf").await, None);
    is_as_it_was(&outside);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_at_the_target_or_above_it_is_not_followed() {
    let (kit, outside) = planted().await;
    let version = kit.item("queue/a.pdf").await.version;
    std::fs::create_dir(kit.root().join("pdf")).unwrap();
    symlink(outside.path().join("secret.pdf"), kit.root().join("pdf/a.pdf")).unwrap();
    symlink(outside.path().join("new.pdf"), kit.root().join("pdf/dangling.pdf")).unwrap();
    for to in ["pdf/a.pdf", "pdf/dangling.pdf"] {
        assert_eq!(kit.relocate("queue/a.pdf", &version, to).await, Relocated::Taken, "{to}");
    }
    symlink(outside.path(), kit.root().join("pdf/folder")).unwrap();
    refused(&kit, "queue/a.pdf", &version, "pdf/folder/a.pdf").await;
    kit.holds(&[("queue/a.pdf", A)]).await;
    is_as_it_was(&outside);
}

#[tokio::test(flavor = "multi_thread")]
async fn clearing_removes_links_and_nothing_behind_them() {
    let (kit, outside) = planted().await;
    let folder = kit.root().join("temp/a/b");
    std::fs::create_dir_all(&folder).unwrap();
    symlink(outside.path(), folder.join("link")).unwrap();
    symlink(kit.root().join("queue"), kit.root().join("temp/to-queue")).unwrap();
    assert_eq!(kit.shelf.clear(&k("temp/a")).await.unwrap(), 1);
    assert_eq!(kit.shelf.clear(&k("temp/to-queue")).await.unwrap(), 1, "the link itself");
    assert_eq!(
        kit.shelf.clear(&k("temp/to-queue/a.pdf")).await.unwrap(),
        0,
        "there is no such folder any more"
    );
    symlink(kit.root().join("queue"), kit.root().join("temp/to-queue")).unwrap();
    let error = kit.shelf.clear(&k("temp/to-queue/a.pdf")).await.unwrap_err();
    assert_eq!(error.code(), Code::StorageAccessDenied);
    kit.holds(&[("queue/a.pdf", A)]).await;
    is_as_it_was(&outside);
}

/// The look saw the file; what the rename took was a link, a folder, or another file.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_swapped_in_between_the_look_and_the_rename_is_put_back() {
    let (kit, outside) = planted().await;
    let version = kit.item("queue/a.pdf").await.version;
    let (file, away) = (kit.root().join("queue/a.pdf"), kit.root().join("result"));
    std::fs::create_dir(&away).unwrap();
    let secret = outside.path().join("secret.pdf");
    let (from, to) = (file.clone(), away.join("kept.pdf"));
    kit.hook.on(MovePoint::BeforeCopy, async move {
        std::fs::rename(&from, to).unwrap();
        symlink(secret, from).unwrap();
    });
    refused(&kit, "queue/a.pdf", &version, "pdf/a.pdf").await;
    assert!(std::fs::symlink_metadata(&file).unwrap().is_symlink(), "it lies where it was put");
    assert_eq!(std::fs::read_dir(kit.root().join("pdf")).unwrap().count(), 0);

    std::fs::remove_file(&file).unwrap();
    std::fs::rename(away.join("kept.pdf"), &file).unwrap();
    let (from, to) = (file.clone(), away.join("kept.pdf"));
    kit.hook.on(MovePoint::BeforeCopy, async move {
        std::fs::rename(&from, to).unwrap();
        std::fs::create_dir(&from).unwrap();
        std::fs::write(from.join("inside.pdf"), "inside").unwrap();
    });
    assert_eq!(kit.relocate("queue/a.pdf", &version, "pdf/a.pdf").await, Relocated::Missing);
    kit.holds(&[("queue/a.pdf/inside.pdf", b"inside"), ("result/kept.pdf", A)]).await;
    is_as_it_was(&outside);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_no_keys_are_left_alone() {
    use std::os::unix::ffi::OsStrExt;
    let (kit, _outside) = planted().await;
    let queue = kit.root().join("queue");
    for name in [&b"no\xfftext.pdf"[..], b"new\nline.pdf", b"back\\slash.pdf", b".redrive-x.pdf"] {
        std::fs::write(queue.join(std::ffi::OsStr::from_bytes(name)), "?").unwrap();
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        queue.join("pipe.pdf"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let items: Vec<_> = kit.shelf.list(&k("queue")).try_collect().await.unwrap();
    assert_eq!(items.iter().map(|item| item.key.as_str()).collect::<Vec<_>>(), ["queue/a.pdf"]);
    assert!(kit.shelf.look(&k("queue/pipe.pdf")).await.is_err());
    assert!(
        kit.shelf.relocate(&k("queue/pipe.pdf"), &"0-0".into(), &k("pdf/p.pdf"), &Meta::new()).await.is_err()
    );
}
