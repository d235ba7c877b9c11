//! kill -9 at every point of a move, then the same move again: no file is missing, and none is there twice.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;

use redrive_blob::shelf::{BucketShelf, FolderShelf, Meta, MovePoint, MoveSeam, Relocated, Shelf};

use super::kit::Kit;
use crate::child;
use crate::kit::{k, noise, settings};

const POINTS: [(&str, MovePoint); 3] = [
    ("before", MovePoint::BeforeCopy),
    ("copied", MovePoint::AfterCopy),
    ("deleted", MovePoint::AfterDelete),
];
/// The moves that intake makes.
const MOVES: [(&str, &str); 4] = [
    ("queue/a b/1.pdf", "pdf/a b/1.pdf"),
    ("pdf/2.pdf", "queue/2.pdf"),
    ("pdf/x/3.pdf", "failed/x/3.pdf"),
    ("pdf/4.pdf", "result/4.pdf"),
];

/// Says that the point is reached, and stays there.
struct Stay(MovePoint);

impl MoveSeam for Stay {
    fn at(&self, point: MovePoint) -> std::io::Result<()> {
        if point == self.0 {
            println!("reached");
            loop {
                std::thread::park();
            }
        }
        Ok(())
    }
}

/// In the child: a move that stops at a point.
pub(crate) async fn move_until(folder: &Path, how: &str) {
    let words: Vec<&str> = how.split('\t').collect();
    let point = POINTS.iter().find(|(name, _)| *name == words[0]).unwrap().1;
    let seam = Arc::new(Stay(point));
    let shelf: Arc<dyn Shelf> = match words[4..] {
        [url, bucket] => {
            let home = tempfile::tempdir().unwrap();
            Arc::new(BucketShelf::open_with(settings(url, bucket, home.path()), seam).await.unwrap())
        }
        _ => Arc::new(FolderShelf::open_with(folder, seam).await.unwrap()),
    };
    let meta = Meta::from([("retry-count".to_owned(), "1".to_owned())]);
    shelf.relocate(&k(words[1]), &words[2].to_owned(), &k(words[3]), &meta).await.unwrap();
}

fn start(folder: &Path, how: &str) -> Child {
    let mut child = child::command(&format!("move-until {how}"), folder).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("reached")), "the child ended early");
    child
}

/// Also covers: M41.
async fn dies_everywhere(kit: &Kit) {
    for (name, point) in POINTS {
        let mut expected = std::collections::BTreeMap::new();
        for (n, (from, to)) in MOVES.into_iter().enumerate() {
            let (from, to) =
                (from.replace(".pdf", &format!("-{name}.pdf")), to.replace(".pdf", &format!("-{name}.pdf")));
            let bytes = noise(10_000 + n, n as u64);
            kit.person.put_with(&from, bytes.clone(), &[("uploaded-by", "anna")]).await;
            let version = kit.item(&from).await.version;
            let server =
                kit.server.as_ref().map(|(url, bucket)| format!("\t{url}\t{bucket}")).unwrap_or_default();
            let folder = if kit.is_folder { kit.root() } else { kit.home.path() };
            let mut child = start(folder, &format!("{name}\t{from}\t{version}\t{to}{server}"));
            child.kill().unwrap();
            child.wait().unwrap();
            let here = [kit.person.get(&from).await, kit.person.get(&to).await];
            let copies = here.iter().flatten().filter(|there| **there == bytes).count();
            let twice = point == MovePoint::AfterCopy && !kit.is_folder;
            assert_eq!(copies, if twice { 2 } else { 1 }, "{name} {from}: never none");

            let meta = Meta::from([("retry-count".to_owned(), "1".to_owned())]);
            let moved = kit.shelf.relocate(&k(&from), &version, &k(&to), &meta).await.unwrap();
            let item = kit.item(&to).await;
            assert_eq!(moved, Relocated::Done { version: item.version }, "{name} {from}");
            if !kit.is_folder {
                let said = kit.meta(&to).await;
                assert_eq!(said.get("retry-count").map(String::as_str), Some("1"), "{said:?}");
                assert_eq!(said.get("uploaded-by").map(String::as_str), Some("anna"), "{said:?}");
            }
            expected.insert(to, redrive_blob::Sha256::of(&bytes));
        }
        let census = kit.census().await;
        let ours = census.into_iter().filter(|(key, _)| key.contains(&format!("-{name}.pdf"))).collect();
        assert_eq!(expected, ours, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_in_a_move_on_a_folder_loses_nothing() {
    dies_everywhere(&Kit::folder().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_in_a_move_on_s3s_loses_nothing() {
    dies_everywhere(&Kit::s3s().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_in_a_move_on_moto_loses_nothing() {
    if let Some(kit) = Kit::moto().await {
        dies_everywhere(&kit).await;
    }
}
