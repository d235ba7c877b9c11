//! kill -9 in the middle of a put: never a torn file under a final name, and what stays behind is swept.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;

use redrive_blob::{Blobs, BlobsExt, Folder, Placed, Point, Seam, Sha256};

use crate::child;
use crate::kit::{age, earlier, files_below, k, later, noise};

const POINTS: [(&str, Point); 4] = [
    ("write", Point::WriteTemp),
    ("sync", Point::SyncTemp),
    ("rename", Point::Rename),
    ("sync-folder", Point::SyncFolder),
];

/// Says that the point is reached, and stays there.
struct Stay(Point);

impl Seam for Stay {
    fn before(&self, point: Point) -> std::io::Result<()> {
        if point == self.0 {
            println!("reached");
            loop {
                std::thread::park();
            }
        }
        Ok(())
    }
}

/// In the child: a put that stops at a point.
pub(crate) async fn put_until(folder: &Path, point: &str) {
    let point = POINTS.iter().find(|(name, _)| *name == point).unwrap().1;
    let blobs = Folder::open_with(folder, Arc::new(Stay(point))).await.unwrap();
    blobs.put_bytes(&k("job/1"), noise(1 << 20, 1)).await.unwrap();
}

fn start(folder: &Path, point: &str) -> Child {
    let mut child = child::command(&format!("put-until {point}"), folder).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("reached")), "the child ended early");
    child
}

/// Also covers: M2.
#[tokio::test]
async fn a_process_that_dies_in_a_put_leaves_no_torn_file_and_its_temp_is_swept() {
    for (name, point) in POINTS {
        let home = tempfile::tempdir().unwrap();
        let mut child = start(home.path(), name);
        let blobs = Folder::open(home.path()).await.unwrap();
        for (file, _) in files_below(home.path()) {
            age(&file, 7_200);
        }
        let alive = blobs.sweep_temps(earlier(3_600), 10).await.unwrap();
        assert_eq!(alive.removed, 0, "{name}: the temp of a living writer stays, however old it looks");
        child.kill().unwrap();
        child.wait().unwrap();

        let renamed = point == Point::SyncFolder;
        let keys = blobs.keys(None).await.unwrap();
        assert_eq!(keys.len(), usize::from(renamed), "{name}");
        if renamed {
            blobs.verify(&k("job/1"), &Sha256::of(&noise(1 << 20, 1))).await.unwrap();
        }
        assert_eq!(
            blobs.sweep_temps(earlier(86_400), 10).await.unwrap().removed,
            0,
            "{name}: not yet old enough"
        );
        let swept = blobs.sweep_temps(earlier(3_600), 10).await.unwrap();
        assert_eq!(swept.removed, u64::from(!renamed), "{name}");
        let again = blobs.put_bytes(&k("job/1"), noise(1 << 20, 1)).await.unwrap();
        assert_eq!(again.placed, if renamed { Placed::Adopted } else { Placed::New }, "{name}");
        assert_eq!(files_below(home.path()).len(), 1, "{name}");
        assert_eq!(blobs.sweep_temps(later(60), 10).await.unwrap().removed, 0);
    }
}
