//! Whoever waits for a folder hears of what came, also in folders that were not there, and between two questions.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use redrive_blob::Key;
use redrive_blob::shelf::Shelf;

use super::kit::Kit;
use crate::kit::k;

/// Nothing here takes so long, unless it never comes.
const LONG: Duration = Duration::from_secs(30);

fn below() -> [Key; 2] {
    [k("retry"), k("queue")]
}

async fn wakes(shelf: &dyn Shelf, why: &str) {
    let below = below();
    tokio::time::timeout(LONG, shelf.changed(&below))
        .await
        .unwrap_or_else(|_| panic!("{why}: it never woke"));
}

/// Takes what is left of former deeds. Events are there when the deed is done, so asking once is enough.
async fn quiet(shelf: &dyn Shelf) {
    let below = below();
    loop {
        let mut asked = pin!(shelf.changed(&below));
        let short = tokio::time::timeout(Duration::from_millis(200), asked.as_mut()).await;
        if short.is_err() {
            let still = poll_fn(|context| Poll::Ready(asked.as_mut().poll(context).is_pending())).await;
            assert!(still);
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_tells_what_came() {
    let kit = Kit::folder().await;
    let shelf = &*kit.shelf;
    let root = kit.root().to_owned();
    wakes(shelf, "the first question is answered at once").await;
    std::fs::create_dir(root.join("queue")).unwrap();
    wakes(shelf, "a folder that was not there").await;
    quiet(shelf).await;
    std::fs::write(root.join("queue/a.pdf"), "x").unwrap();
    wakes(shelf, "a new file").await;
    quiet(shelf).await;
    std::fs::write(root.join("elsewhere"), "x").unwrap();
    quiet(shelf).await;
    std::fs::rename(root.join("elsewhere"), root.join("queue/b.pdf")).unwrap();
    wakes(shelf, "a rename into it").await;
    quiet(shelf).await;
    std::fs::create_dir_all(root.join("queue/x/y/z")).unwrap();
    wakes(shelf, "new folders").await;
    quiet(shelf).await;
    std::fs::write(root.join("queue/x/y/z/c.pdf"), "x").unwrap();
    wakes(shelf, "a file in a folder that was made later").await;
    quiet(shelf).await;
    // Between two questions, and when the one who asked was gone.
    std::fs::write(root.join("queue/x/d.pdf"), "x").unwrap();
    wakes(shelf, "a file between two questions").await;
    quiet(shelf).await;
    std::fs::rename(root.join("queue/x"), root.join("queue/renamed")).unwrap();
    wakes(shelf, "a renamed folder").await;
    quiet(shelf).await;
    std::fs::write(root.join("queue/renamed/y/e.pdf"), "x").unwrap();
    wakes(shelf, "a file in a renamed folder").await;
    quiet(shelf).await;
    std::fs::remove_dir_all(root.join("queue")).unwrap();
    std::fs::create_dir(root.join("queue")).unwrap();
    wakes(shelf, "a folder that was made again").await;
    quiet(shelf).await;
    std::fs::write(root.join("queue/f.pdf"), "x").unwrap();
    wakes(shelf, "a file in a folder that was made again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_was_dropped_misses_nothing() {
    let kit = Kit::folder().await;
    let shelf = &*kit.shelf;
    std::fs::create_dir(kit.root().join("queue")).unwrap();
    wakes(shelf, "the first").await;
    quiet(shelf).await;
    for n in 0..50 {
        let file = kit.root().join(format!("queue/{n}.pdf"));
        {
            let below = below();
            let mut asked = pin!(shelf.changed(&below));
            let pending = poll_fn(|context| Poll::Ready(asked.as_mut().poll(context).is_pending())).await;
            assert!(pending);
            std::fs::write(&file, "x").unwrap();
            if poll_fn(|context| Poll::Ready(asked.as_mut().poll(context).is_ready())).await {
                continue;
            }
        }
        wakes(shelf, "after it was dropped").await;
        quiet_now(shelf).await;
    }
}

/// Like `quiet`, without waiting for what cannot come.
async fn quiet_now(shelf: &dyn Shelf) {
    let below = below();
    while tokio::time::timeout(Duration::from_millis(20), shelf.changed(&below)).await.is_ok() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_not_watched_and_a_bucket_does_not_tell() {
    let kit = Kit::folder().await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(kit.root().join("queue")).unwrap();
    std::os::unix::fs::symlink(outside.path(), kit.root().join("queue/link")).unwrap();
    wakes(&*kit.shelf, "the first").await;
    quiet(&*kit.shelf).await;
    std::fs::write(outside.path().join("a.pdf"), "x").unwrap();
    quiet(&*kit.shelf).await;
    let kit = Kit::s3s().await;
    quiet(&*kit.shelf).await;
}
