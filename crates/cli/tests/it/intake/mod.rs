//! Intake as its users see it: PDFs are put into a folder or a bucket of a server that runs, and each is there in the end.

mod bucket;
mod folder;
mod killed;

pub(crate) use bucket::moto;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use redrive_blob::Sha256;
use redrive_gateway::sample;

use crate::running::Running;

/// Runs follow each other quickly.
const QUICK: [(&str, &str); 3] =
    [("RETRY_BASE_DELAY_MS", "50"), ("RETRY_JITTER_MAX_MS", "0"), ("INTAKE_INTERVAL_SEC", "1")];

/// A PDF that can be read, unlike any other.
fn pdf(n: usize) -> Vec<u8> {
    sample::page(&format!("BT /F1 12 Tf 72 700 Td (document {n}) Tj ET"))
}

/// A folder of people, and the data of a server that works on it.
struct Folders {
    home: tempfile::TempDir,
}

impl Folders {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.home.path().join("in").join(path)
    }

    fn serve(&self, settings: &[(&str, &str)]) -> Running {
        let url = format!("file://{}", self.at("").display());
        let all = [&[("INTAKE_URL", url.trim_end_matches('/'))], &QUICK[..], settings].concat();
        Running::serve(&self.data(), &all)
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// All files of people's folder but marks, with their bytes.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        fn walk(folder: &Path, root: &Path, into: &mut BTreeMap<String, Vec<u8>>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                if path.is_dir() {
                    walk(&path, root, into);
                } else if !name.starts_with('.')
                    && let Ok(bytes) = std::fs::read(&path)
                {
                    into.insert(name, bytes);
                }
            }
        }
        let mut files = BTreeMap::new();
        walk(&self.at(""), &self.at(""), &mut files);
        files
    }

    fn names(&self) -> Vec<String> {
        self.files().into_keys().collect()
    }
}

/// How often each PDF is there, by its hash.
fn census<'a>(files: impl IntoIterator<Item = (&'a String, &'a Vec<u8>)>) -> BTreeMap<String, usize> {
    let mut seen = BTreeMap::new();
    for (_, bytes) in files.into_iter().filter(|(name, _)| name.ends_with(".pdf")) {
        *seen.entry(Sha256::of(bytes).to_string()).or_default() += 1;
    }
    seen
}

/// Each of so many PDFs exactly once.
fn each_once(many: usize) -> BTreeMap<String, usize> {
    (0..many).map(|n| (Sha256::of(&pdf(n)).to_string(), 1)).collect()
}
