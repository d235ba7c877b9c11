//! A folder that people use too: they can read what we make, and none of their folders goes away.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use redrive_blob::shelf::Relocated;
use redrive_blob::{BlobsExt, Location};

use super::kit::Kit;
use crate::kit::k;

const A: &[u8] = b"%PDF-1.7 the first";

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// What a file and a folder get that anybody makes here.
fn usual(home: &Path) -> (u32, u32) {
    std::fs::write(home.join("file"), "").unwrap();
    std::fs::create_dir(home.join("folder")).unwrap();
    (mode(&home.join("file")), mode(&home.join("folder")))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_we_make_has_the_modes_that_the_umask_leaves() {
    let kit = Kit::folder().await;
    let (file, folder) = usual(kit.home.path());
    assert_eq!(mode(kit.root()), folder);
    kit.person.put("queue/sub/a.pdf", A).await;
    std::fs::set_permissions(kit.root().join("queue/sub/a.pdf"), PermissionsExt::from_mode(0o640)).unwrap();
    let version = kit.item("queue/sub/a.pdf").await.version;
    assert!(matches!(
        kit.relocate("queue/sub/a.pdf", &version, "pdf/sub/a.pdf").await,
        Relocated::Done { .. }
    ));
    assert_eq!(mode(&kit.root().join("pdf/sub")), folder);
    assert_eq!(mode(&kit.root().join("pdf/sub/a.pdf")), 0o640, "a person's file keeps its own");
    let blobs = kit.shelf.blobs();
    for (key, bytes) in [("result/sub/small.xml", 10), ("result/sub/large.xml", 400_000)] {
        blobs.put_bytes(&k(key), crate::kit::noise(bytes, 1)).await.unwrap();
        assert_eq!(mode(&kit.root().join(key)), file, "{key}");
    }
    assert_eq!(mode(&kit.root().join("result/sub")), folder);
    assert_eq!(mode(&kit.root().join(".redrive-temp")), 0o700, "what is on its way is ours");
}

/// Needs root, to have a second group.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_hands_its_group_down_does_so() {
    if !rustix::process::geteuid().is_root() {
        println!("not root: skipped");
        return;
    }
    use std::os::unix::fs::MetadataExt;
    let kit = Kit::folder().await;
    let result = kit.root().join("result");
    std::fs::create_dir(&result).unwrap();
    std::os::unix::fs::chown(&result, None, Some(12_345)).unwrap();
    std::fs::set_permissions(&result, PermissionsExt::from_mode(0o2775)).unwrap();
    let blobs = kit.shelf.blobs();
    for (key, bytes) in [("result/a.xml", 10), ("result/sub/b.xml", 400_000)] {
        blobs.put_bytes(&k(key), crate::kit::noise(bytes, 1)).await.unwrap();
        assert_eq!(std::fs::metadata(kit.root().join(key)).unwrap().gid(), 12_345, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_folders_of_ours_go_when_they_are_empty() {
    let kit = Kit::folder().await;
    kit.person.put("queue/sub/a.pdf", A).await;
    let version = kit.item("queue/sub/a.pdf").await.version;
    kit.relocate("queue/sub/a.pdf", &version, "pdf/sub/deep/a.pdf").await;
    assert!(kit.root().join("queue/sub").is_dir(), "a person made it");
    kit.relocate("pdf/sub/deep/a.pdf", &version, "result/sub/a.pdf").await;
    assert!(!kit.root().join("pdf/sub").exists() && kit.root().join("pdf").is_dir());
    let blobs = kit.shelf.blobs();
    blobs.put_bytes(&k("temp/sub/a.pdf/1.xml"), "x".into()).await.unwrap();
    blobs.put_bytes(&k("reports/sub/a.docx"), "x".into()).await.unwrap();
    assert_eq!(kit.shelf.clear(&k("temp/sub/a.pdf")).await.unwrap(), 1);
    assert!(!kit.root().join("temp/sub").exists() && kit.root().join("temp").is_dir());
    blobs.delete(&k("reports/sub/a.docx")).await.unwrap();
    assert!(kit.root().join("reports/sub").is_dir());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shelf_is_opened_by_its_location() {
    let home = tempfile::tempdir().unwrap();
    let real = std::fs::canonicalize(home.path()).unwrap();
    std::fs::create_dir(real.join("there")).unwrap();
    std::os::unix::fs::symlink(real.join("there"), real.join("link")).unwrap();
    let none: [(&str, &str); 0] = [];
    for text in [format!("file://{}/there", real.display()), format!("{}/link", real.display())] {
        let shelf = text.parse::<Location>().unwrap().open_shelf("/nowhere", none).await.unwrap();
        assert_eq!(shelf.root(), format!("file://{}/there", real.display()), "one place has one name");
    }
    let fake = crate::fake_s3::Fake::start().await;
    let vars = [
        ("S3_ENDPOINT", fake.url.as_str()),
        ("AWS_ACCESS_KEY_ID", "who"),
        ("AWS_SECRET_ACCESS_KEY", "canary-secret"),
        ("AWS_REGION", "us-east-1"),
    ];
    let location: Location = "s3://bucket/in/here/".parse().unwrap();
    let shelf = location.open_shelf(real.join("spool"), vars).await.unwrap();
    assert_eq!(shelf.root(), "s3://bucket/in/here");
    assert!(!format!("{shelf:?}").contains("canary"), "{shelf:?}");
}
