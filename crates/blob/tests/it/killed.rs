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

/// What goes through memory, and what goes through a temp from its first block on.
const SIZES: [usize; 2] = [1_000, 1 << 20];

/// In the child: a put of so many bytes that stops at a point.
pub(crate) async fn put_until(folder: &Path, how: &str) {
    let (point, size) = how.split_once(' ').unwrap();
    let size = size.parse().unwrap();
    let point = POINTS.iter().find(|(name, _)| *name == point).unwrap().1;
    let blobs = Folder::open_with(folder, Arc::new(Stay(point))).await.unwrap();
    blobs.put_bytes(&k("job/1"), noise(size, 1)).await.unwrap();
}

fn start(folder: &Path, point: &str, size: usize) -> Child {
    let mut child = child::command(&format!("put-until {point} {size}"), folder).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("reached")), "the child ended early");
    child
}

/// Also covers: M2.
#[tokio::test]
async fn a_process_that_dies_in_a_put_leaves_no_torn_file_and_its_temp_is_swept() {
    for (size, (name, point)) in SIZES.into_iter().flat_map(|size| POINTS.map(|point| (size, point))) {
        let home = tempfile::tempdir().unwrap();
        let mut child = start(home.path(), name, size);
        let blobs = Folder::open(home.path()).await.unwrap();
        for (file, _) in files_below(home.path()) {
            age(&file, 7_200);
        }
        let alive = blobs.sweep_temps(earlier(3_600), 10).await.unwrap();
        assert_eq!(
            alive.removed, 0,
            "{name} {size}: the temp of a living writer stays, however old it looks"
        );
        child.kill().unwrap();
        child.wait().unwrap();

        let renamed = point == Point::SyncFolder;
        let keys = blobs.keys(None).await.unwrap();
        assert_eq!(keys.len(), usize::from(renamed), "{name} {size}");
        if renamed {
            blobs.verify(&k("job/1"), &Sha256::of(&noise(size, 1))).await.unwrap();
        }
        assert_eq!(
            blobs.sweep_temps(earlier(86_400), 10).await.unwrap().removed,
            0,
            "{name} {size}: not yet old enough"
        );
        let swept = blobs.sweep_temps(earlier(3_600), 10).await.unwrap();
        assert_eq!(swept.removed, u64::from(!renamed), "{name} {size}");
        let again = blobs.put_bytes(&k("job/1"), noise(size, 1)).await.unwrap();
        assert_eq!(again.placed, if renamed { Placed::Adopted } else { Placed::New }, "{name} {size}");
        assert_eq!(files_below(home.path()).len(), 1, "{name} {size}");
        assert_eq!(blobs.sweep_temps(later(60), 10).await.unwrap().removed, 0);
    }
}
