//! Work that a test does in a process of its own, to kill it, to run as somebody else, or to measure its memory.
//!
//! The child is this test binary again, told by a variable what to do. Run without that variable it has nothing to do.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::kit::var;

const TASK: &str = "REDRIVE_TEST_CHILD";
const FOLDER: &str = "REDRIVE_TEST_FOLDER";

/// A command that does a task in a folder.
pub(crate) fn command(task: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child::does_what_it_is_told", "--nocapture"]);
    command.env(TASK, task).env(FOLDER, folder).stdout(Stdio::piped());
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn does_what_it_is_told() {
    let Some(task) = var(TASK) else { return };
    let folder = var(FOLDER).unwrap();
    let folder = Path::new(&folder);
    match task.split_once(' ').unwrap_or((&task, "")) {
        ("put-until", how) => crate::killed::put_until(folder, how).await,
        ("put", bytes) => crate::synced::put(folder, bytes.parse().unwrap()).await,
        ("put-again", _) => crate::synced::put_again(folder).await,
        ("relocate", _) => crate::synced::relocate(folder).await,
        ("denied", _) => crate::torn::denied(folder).await,
        ("many-folder", count) => crate::memory::many_on_folder(folder, count.parse().unwrap()).await,
        ("many-s3", count) => crate::memory::many_on_s3(folder, count.parse().unwrap()).await,
        ("move-until", how) => crate::shelf::killed::move_until(folder, how).await,
        ("list-folder", _) => crate::shelf::memory::list_folder(folder).await,
        ("list-bucket", _) => crate::shelf::memory::list_bucket(folder).await,
        other => panic!("{other:?}"),
    }
}
