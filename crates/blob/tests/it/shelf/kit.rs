//! A shelf under test, and a person who works on it past our code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Object;
use object_store::{Attribute, Attributes, ObjectStore, ObjectStoreExt, PutOptions};
use redrive_blob::shelf::{BucketShelf, FolderShelf, Item, Meta, MovePoint, MoveSeam, Relocated, Shelf};
use redrive_blob::{BlobError, Sha256};
use tempfile::TempDir;

use crate::kit::{k, raw, settings};

pub(crate) const FOLDERS: [&str; 5] = ["queue", "retry", "pdf", "result", "failed"];

/// Somebody who puts, takes and looks.
#[derive(Clone)]
pub(crate) enum Person {
    Folder(PathBuf),
    Bucket(Arc<AmazonS3>),
}

impl Person {
    pub(crate) fn at(url: &str, bucket: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store = AmazonS3Builder::new()
            .with_endpoint(url)
            .with_bucket_name(bucket)
            .with_access_key_id("who")
            .with_secret_access_key("secret")
            .with_region("us-east-1")
            .with_allow_http(true)
            .with_disable_bulk_delete(true)
            .build();
        Self::Bucket(Arc::new(store.unwrap()))
    }

    pub(crate) async fn put(&self, key: &str, bytes: impl Into<Bytes>) {
        self.put_with(key, bytes, &[]).await;
    }

    /// Puts over whatever is there.
    pub(crate) async fn put_with(&self, key: &str, bytes: impl Into<Bytes>, meta: &[(&str, &str)]) {
        match self {
            Self::Folder(root) => {
                let file = root.join(key);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                let aside = root.join(".person");
                std::fs::write(&aside, bytes.into()).unwrap();
                std::fs::rename(aside, file).unwrap();
            }
            Self::Bucket(store) => {
                let mut attributes = Attributes::new();
                attributes.insert(Attribute::ContentType, "application/pdf".into());
                for (name, value) in meta {
                    attributes
                        .insert(Attribute::Metadata((*name).to_owned().into()), (*value).to_owned().into());
                }
                let options = PutOptions { attributes, ..PutOptions::default() };
                store.put_opts(&object(key), bytes.into().into(), options).await.unwrap();
            }
        }
    }

    pub(crate) async fn remove(&self, key: &str) {
        match self {
            Self::Folder(root) => std::fs::remove_file(root.join(key)).unwrap(),
            Self::Bucket(store) => store.delete(&object(key)).await.unwrap(),
        }
    }

    pub(crate) async fn get(&self, key: &str) -> Option<Bytes> {
        match self {
            Self::Folder(root) => std::fs::read(root.join(key)).ok().map(Bytes::from),
            Self::Bucket(store) => Some(store.get(&object(key)).await.ok()?.bytes().await.unwrap()),
        }
    }

    /// Takes it away under another name.
    pub(crate) async fn rename(&self, from: &str, to: &str) {
        let bytes = self.get(from).await.unwrap();
        self.put(to, bytes).await;
        self.remove(from).await;
    }
}

fn object(key: &str) -> Object {
    Object::parse(format!("pre/fix/{key}")).unwrap()
}

pub(crate) struct Kit {
    pub(crate) shelf: Arc<dyn Shelf>,
    pub(crate) person: Person,
    pub(crate) hook: Arc<Hook>,
    pub(crate) is_folder: bool,
    pub(crate) is_s3s: bool,
    /// Where the server is, and the bucket.
    pub(crate) server: Option<(String, String)>,
    pub(crate) home: TempDir,
    /// Keeps a server alive.
    _under: Option<crate::kit::Kit>,
}

impl Kit {
    pub(crate) async fn folder() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("files");
        let hook = Arc::new(Hook::default());
        let shelf = Arc::new(FolderShelf::open_with(&root, Arc::clone(&hook) as _).await.unwrap());
        let person = Person::Folder(root);
        Self { shelf, person, hook, is_folder: true, is_s3s: false, server: None, home, _under: None }
    }

    pub(crate) async fn s3s() -> Self {
        let under = crate::kit::Kit::s3s().await;
        let url = under.url.clone().unwrap();
        Self::bucket(&url, "bucket", Some(under)).await
    }

    pub(crate) async fn moto() -> Option<Self> {
        let url = crate::kit::var("REDRIVE_TEST_MOTO");
        let Some(url) = url else {
            println!("REDRIVE_TEST_MOTO is not set: skipped; run ./test");
            return None;
        };
        let bucket = format!("shelf{}", crate::kit::once());
        raw(reqwest::Method::PUT, &format!("{url}/{bucket}")).await;
        Some(Self::bucket(&url, &bucket, None).await)
    }

    async fn bucket(url: &str, bucket: &str, under: Option<crate::kit::Kit>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let hook = Arc::new(Hook::default());
        let shelf = BucketShelf::open_with(settings(url, bucket, home.path()), Arc::clone(&hook) as _).await;
        Self {
            shelf: Arc::new(shelf.unwrap()),
            person: Person::at(url, bucket),
            hook,
            is_folder: false,
            is_s3s: under.is_some(),
            server: Some((url.to_owned(), bucket.to_owned())),
            home,
            _under: under,
        }
    }

    pub(crate) fn root(&self) -> &Path {
        match &self.person {
            Person::Folder(root) => root,
            Person::Bucket(_) => panic!("no folder"),
        }
    }

    pub(crate) async fn item(&self, key: &str) -> Item {
        self.shelf.look(&k(key)).await.unwrap().unwrap().0
    }

    pub(crate) async fn meta(&self, key: &str) -> Meta {
        self.shelf.look(&k(key)).await.unwrap().unwrap().1
    }

    pub(crate) async fn relocate(&self, from: &str, version: &str, to: &str) -> Relocated {
        self.shelf.relocate(&k(from), &version.to_owned(), &k(to), &Meta::new()).await.unwrap()
    }

    /// The same, asked again while the place cannot answer, as whoever moves does: s3s-fs answers 500 about what goes away while it looks.
    pub(crate) async fn relocate_in_the_end(&self, from: &str, version: &str, to: &str) -> Relocated {
        for _ in 0..20 {
            let moved = self.shelf.relocate(&k(from), &version.to_owned(), &k(to), &Meta::new()).await;
            if !matches!(moved, Err(BlobError::Unavailable { .. })) {
                return moved.unwrap();
            }
        }
        panic!("{from} could not be moved to {to}: the place does not answer")
    }

    /// Every file by its key and hash.
    pub(crate) async fn census(&self) -> BTreeMap<String, Sha256> {
        let mut census = BTreeMap::new();
        for folder in FOLDERS {
            let items: Vec<Item> = self.shelf.list(&k(folder)).try_collect().await.unwrap();
            for item in items {
                let open = self.shelf.open(&item.key).await.unwrap();
                assert_eq!(
                    open.item,
                    Item { modified: open.item.modified, ..item.clone() },
                    "a list and a look say the same"
                );
                let bytes: Vec<Bytes> = open.bytes.try_collect().await.unwrap();
                assert!(census.insert(item.key.to_string(), Sha256::of(&bytes.concat())).is_none());
            }
        }
        census
    }

    pub(crate) async fn holds(&self, expected: &[(&str, &[u8])]) {
        let expected: BTreeMap<String, Sha256> =
            expected.iter().map(|(key, bytes)| ((*key).to_owned(), Sha256::of(bytes))).collect();
        assert_eq!(self.census().await, expected);
    }
}

type Deed = Box<dyn FnOnce() + Send>;

/// Does something once when a move is at a point.
#[derive(Default)]
pub(crate) struct Hook(Mutex<Option<(MovePoint, Deed)>>);

impl Hook {
    /// What a person does there.
    pub(crate) fn on<F>(&self, point: MovePoint, deed: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime = tokio::runtime::Handle::current();
        *self.0.lock().unwrap() = Some((point, Box::new(move || runtime.block_on(deed))));
    }

    pub(crate) fn was_reached(&self) -> bool {
        self.0.lock().unwrap().is_none()
    }
}

impl MoveSeam for Hook {
    fn at(&self, point: MovePoint) -> std::io::Result<()> {
        let deed = {
            let mut hook = self.0.lock().unwrap();
            if hook.as_ref().is_some_and(|(on, _)| *on == point) { hook.take() } else { None }
        };
        if let Some((_, deed)) = deed {
            deed();
        }
        Ok(())
    }
}
