//! The sweeper deletes what is old and referenced by no row, and nothing else.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use redrive_blob::{BlobsExt, Folder, Key, ReferenceError, References, Sweep, SweepFailure, expire, sweep};

use crate::fake_s3::Fault;
use crate::kit::{Kit, age, k, later};

/// Rows in memory, with what happens at each question.
#[derive(Default)]
struct Rows {
    keys: Mutex<HashSet<Key>>,
    asked: Mutex<Vec<usize>>,
    /// A row that is committed right before the n-th question.
    arrives: Option<(usize, Key)>,
    /// The n-th question fails.
    fails: Option<usize>,
}

impl Rows {
    fn of(keys: &[&str]) -> Self {
        Self { keys: Mutex::new(keys.iter().map(|key| k(key)).collect()), ..Self::default() }
    }

    fn questions(&self) -> Vec<usize> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl References for Rows {
    async fn referenced(&self, keys: &[Key]) -> Result<HashSet<Key>, ReferenceError> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(keys.len());
        let mut rows = self.keys.lock().unwrap();
        if let Some((at, key)) = &self.arrives
            && *at == asked.len()
        {
            rows.insert(key.clone());
        }
        if self.fails == Some(asked.len()) {
            return Err("the store is away".into());
        }
        Ok(keys.iter().filter(|key| rows.contains(*key)).cloned().collect())
    }
}

/// A sweep an hour from now of what is older than half an hour: everything that a test just made.
fn plan() -> Sweep {
    let half = Duration::from_secs(1_800);
    Sweep { older_than: half, temps_older_than: half, ..Sweep::at(later(3_600)) }
}

async fn with(keys: &[&str]) -> Kit {
    let kit = Kit::folder().await;
    for key in keys {
        kit.put(key, "12345").await;
    }
    kit
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_old_and_unreferenced_goes() {
    let mut kits = vec![Kit::folder().await, Kit::s3s().await];
    kits.extend(Kit::moto().await);
    for kit in kits {
        for key in ["a/kept", "a/orphan", "b/orphan"] {
            kit.put(key, "12345").await;
        }
        let rows = Rows::of(&["a/kept"]);
        let now = sweep(&*kit.blobs, &rows, &Sweep::at(later(0))).await.unwrap();
        assert_eq!((now.seen, now.young, now.deleted, now.through), (3, 3, 0, true), "nothing is a day old");
        assert_eq!(rows.questions(), Vec::<usize>::new());
        let swept = sweep(&*kit.blobs, &rows, &plan()).await.unwrap();
        assert_eq!((swept.seen, swept.young, swept.referenced), (3, 0, 1));
        assert_eq!((swept.deleted, swept.deleted_bytes, swept.spared, swept.through), (2, 10, 0, true));
        assert_eq!(kit.keys().await, ["a/kept"]);
    }
}

#[tokio::test]
async fn a_row_that_arrives_after_the_first_question_saves_its_artifact() {
    let kit = with(&["a", "b"]).await;
    let rows = Rows { arrives: Some((2, k("a"))), ..Rows::default() };
    let swept = sweep(&*kit.blobs, &rows, &plan()).await.unwrap();
    assert_eq!((swept.deleted, swept.referenced), (1, 1));
    assert_eq!(rows.questions(), [2, 2]);
    assert_eq!(kit.keys().await, ["a"]);
}

#[tokio::test]
async fn a_question_that_fails_deletes_nothing_and_ends_the_sweep() {
    for fails in [1, 2] {
        let kit = with(&["a", "b"]).await;
        let rows = Rows { fails: Some(fails), ..Rows::default() };
        let error = sweep(&*kit.blobs, &rows, &plan()).await.unwrap_err();
        assert!(matches!(error.why, SweepFailure::References(_)), "{error:?}");
        assert_eq!((error.done.deleted, error.done.seen), (0, 2));
        assert_eq!(kit.keys().await, ["a", "b"]);
    }
}

#[tokio::test]
async fn a_sweep_is_bounded_and_the_next_one_goes_on() {
    let names: Vec<String> = (0..25).map(|n| format!("f/{n:02}")).collect();
    let kit = with(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let rows = Rows::default();
    let plan = Sweep { batch: 4, most: 10, ..plan() };
    let mut deleted = Vec::new();
    loop {
        let swept = sweep(&*kit.blobs, &rows, &plan).await.unwrap();
        deleted.push(swept.deleted);
        if swept.through {
            break;
        }
    }
    assert_eq!(deleted, [10, 10, 5]);
    assert!(rows.questions().iter().all(|asked| *asked <= 4), "{:?}", rows.questions());
    assert_eq!(kit.keys().await, [""; 0]);
}

#[tokio::test]
async fn what_became_young_after_the_question_is_spared() {
    /// Adopts the orphan while the rows are being asked, without a row yet.
    struct Adopting(Folder);
    #[async_trait]
    impl References for Adopting {
        async fn referenced(&self, _: &[Key]) -> Result<HashSet<Key>, ReferenceError> {
            self.0.put_bytes(&k("a"), "12345".into()).await?;
            Ok(HashSet::new())
        }
    }
    let kit = with(&["a"]).await;
    let root = kit.files.clone().unwrap();
    age(&root.join("a"), 7_200);
    let half = Duration::from_secs(1_800);
    let plan = Sweep { older_than: half, ..Sweep::at(later(0)) };
    let swept = sweep(&*kit.blobs, &Adopting(Folder::open(&root).await.unwrap()), &plan).await.unwrap();
    assert_eq!((swept.deleted, swept.spared), (0, 1));
    assert_eq!(kit.get("a").await, b"12345");
}

#[tokio::test]
async fn temps_of_the_dead_go_with_the_sweep_and_those_of_the_living_stay() {
    let kit = Kit::folder().await;
    let mut alive = kit.blobs.begin(100).await.unwrap();
    alive.write("x").await.unwrap();
    std::fs::write(kit.files.as_ref().unwrap().join(".redrive-temp/dead"), "123").unwrap();
    let swept = sweep(&*kit.blobs, &Rows::default(), &plan()).await.unwrap();
    assert_eq!((swept.temps.removed, swept.temps.bytes, swept.seen), (1, 3, 0));
    alive.finish(&k("a")).await.unwrap();
}

#[tokio::test]
async fn a_sweep_under_a_prefix_leaves_the_rest() {
    let kit = with(&["a/x", "b/x"]).await;
    let plan = Sweep { under: Some(k("a")), ..plan() };
    sweep(&*kit.blobs, &Rows::default(), &plan).await.unwrap();
    assert_eq!(kit.keys().await, ["b/x"]);
}

#[tokio::test]
async fn more_files_than_a_page_are_all_seen() {
    let kit = Kit::folder().await;
    let s3s = Kit::s3s().await;
    for kit in [&kit, &s3s] {
        for n in 0..1_100 {
            let file = kit.files.as_ref().unwrap().join(format!("d{}/{n}", n % 7));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "x").unwrap();
        }
        let swept = sweep(&*kit.blobs, &Rows::default(), &Sweep::at(later(0))).await.unwrap();
        assert_eq!((swept.seen, swept.through), (1_100, true));
    }
}

#[tokio::test]
async fn what_is_over_is_removed_and_failures_do_not_stop_the_rest() {
    let kit = with(&["a", "dir/b", "c"]).await;
    std::os::unix::fs::symlink("/", kit.files.as_ref().unwrap().join("link")).unwrap();
    let expired = expire(&*kit.blobs, ["a", "link/etc", "dir/b", "gone"].map(k)).await;
    assert_eq!(expired.gone, ["a", "dir/b", "gone"].map(k));
    assert_eq!(expired.bytes, 10);
    assert_eq!(expired.failed.len(), 1);
    assert_eq!(kit.keys().await, ["c"]);
}

#[tokio::test]
async fn an_orphan_that_cannot_go_does_not_keep_the_others() {
    let fake = crate::fake_s3::Fake::start().await;
    let home = tempfile::tempdir().unwrap();
    let s3 = redrive_blob::S3::open(crate::kit::settings(&fake.url, "bucket", home.path())).await.unwrap();
    for key in ["a", "b", "c"] {
        s3.put_bytes(&k(key), "12".into()).await.unwrap();
    }
    fake.forget();
    let plan = Sweep::at("2027-01-01T00:00:00Z".parse().unwrap());
    fake.on("DELETE", 2, Fault::Refuse(403, "AccessDenied", None));
    let swept = sweep(&s3, &Rows::default(), &plan).await.unwrap();
    assert_eq!((swept.deleted, swept.failed, swept.through), (2, 1, true));
    fake.on("DELETE", 1, Fault::Refuse(503, "SlowDown", None));
    let error = sweep(&s3, &Rows::default(), &plan).await.unwrap_err();
    assert!(
        matches!(error.why, SweepFailure::Place(_)),
        "a place that asks for time is left alone: {error:?}"
    );
    assert_eq!(fake.objects(), ["pre/fix/b"]);
}
