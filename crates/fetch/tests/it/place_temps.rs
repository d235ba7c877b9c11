//! What downloads left behind is swept in every place when it is old, and nothing that has a name or a writer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use redrive_blob::{BlobsExt, Folder, Key};
use redrive_engine::Code;
use redrive_engine::model::{Target, instant};
use redrive_engine::store::Store;
use redrive_engine::store::clock::{Clock, SystemClock};
use redrive_fetch::{Place, Places, TempRetention};

use crate::bench::until;

struct World {
    home: tempfile::TempDir,
    store: Arc<dyn Store>,
    places: Places,
}

impl World {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let place = async |name: &str| Place {
            blobs: Arc::new(Folder::open(home.path().join(name)).await.unwrap()),
            target: Target::new("disk").unwrap(),
        };
        let listed = BTreeMap::from([("also".to_owned(), place("also").await)]);
        let places = Places { usual: place("fetched").await, listed };
        let store: Arc<dyn Store> = Arc::new(redrive_store_sqlite::Options::default().in_memory().unwrap());
        Self { home, store, places }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn retention(&self) -> TempRetention {
        TempRetention::new(self.store.clone(), self.places.clone(), self.at("handler"))
    }
}

/// A file that was last written so many hours ago.
fn left(path: &Path, hours: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "12345").unwrap();
    let ago = instant::before(SystemClock.now(), Duration::from_secs(hours * 3_600));
    let at = std::time::UNIX_EPOCH + Duration::from_millis(ago.as_millisecond().unsigned_abs());
    fs::File::options().append(true).open(path).unwrap().set_modified(at).unwrap();
}

/// Also covers: M39.
#[tokio::test]
async fn old_temps_of_every_place_and_copies_of_the_dead_go_and_all_else_stays() {
    let world = World::new().await;
    for gone in [
        "fetched/.redrive-temp/old",
        "fetched/.redrive-temp/3/old",
        "also/.redrive-temp/old",
        "handler/.tmpold",
    ] {
        left(&world.at(gone), 25);
    }
    for stays in ["fetched/.redrive-temp/young", "also/.redrive-temp/a/young", "handler/notes"] {
        left(&world.at(stays), 23);
    }
    // Nobody deletes what somebody asked for, though no row of ours knows it.
    left(&world.at("fetched/batch/object"), 24 * 400);
    let place = &world.places.usual.blobs;
    let mut upload = place.begin(100).await.unwrap();
    upload.write("slow").await.unwrap();
    let swept = world.retention().walk().await.unwrap();
    assert_eq!((swept.removed, swept.bytes), (4, 20));
    for gone in [
        "fetched/.redrive-temp/old",
        "fetched/.redrive-temp/3/old",
        "also/.redrive-temp/old",
        "handler/.tmpold",
    ] {
        assert!(!world.at(gone).exists(), "{gone}");
    }
    for stays in
        ["fetched/.redrive-temp/young", "also/.redrive-temp/a/young", "handler/notes", "fetched/batch/object"]
    {
        assert!(world.at(stays).exists(), "{stays}");
    }
    let key = Key::parse("slow").unwrap();
    upload.finish(&key).await.unwrap();
    assert_eq!(place.head(&key).await.unwrap().bytes, 4, "its writer was alive");
    assert_eq!(place.keys(None).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_place_that_cannot_be_swept_is_told_and_does_not_keep_the_others() {
    let world = World::new().await;
    fs::remove_dir_all(world.at("fetched/.redrive-temp")).unwrap();
    fs::write(world.at("fetched/.redrive-temp"), "in the way").unwrap();
    left(&world.at("also/.redrive-temp/old"), 25);
    left(&world.at("handler/.tmpold"), 25);
    let failure = world.retention().walk().await.unwrap_err();
    assert_eq!(failure.code, Code::StorageUnavailable, "{failure}");
    assert!(!world.at("also/.redrive-temp/old").exists() && !world.at("handler/.tmpold").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_a_permanent_job_it_walks_again_and_again() {
    let world = World::new().await;
    let engine =
        redrive_engine::Engine::new(world.store.clone(), redrive_engine::Options::default()).await.unwrap();
    let retention = world.retention().every(Duration::from_millis(20));
    engine.permanent("fetch.temps", retention).await.unwrap();
    let running = engine.start();
    for round in 0..2 {
        let path = world.at(&format!("fetched/.redrive-temp/{round}"));
        left(&path, 25);
        until(|| !path.exists()).await;
    }
    running.drain().await;
}
