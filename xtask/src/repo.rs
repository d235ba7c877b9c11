//! The repository as files below one root. Paths are relative to it, with `/`, and lists are sorted, so that what is
//! generated is the same on every machine.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// A directory that is read and written by relative path.
#[derive(Debug)]
pub(crate) struct Repo {
    root: PathBuf,
}

impl Repo {
    /// The repository that the working directory lies in. Not the one this program was built from: two checkouts
    /// may share a build folder.
    pub(crate) fn here() -> Result<Self> {
        let start = std::env::current_dir().context("there is no working directory")?;
        let root = start.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file());
        let root = root.with_context(|| format!("{} is not inside the repository", start.display()))?;
        Ok(Self { root: root.to_owned() })
    }

    /// The path of a file, for programs that want one.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The text of a file; `None` when there is no such file.
    pub(crate) fn read(&self, relative: &str) -> Result<Option<String>> {
        match fs::read_to_string(self.path(relative)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {relative}")),
        }
    }

    /// Writes a file unless it says this already. Answers whether it wrote.
    pub(crate) fn write_if_changed(&self, relative: &str, text: &str) -> Result<bool> {
        if self.read(relative)?.as_deref() == Some(text) {
            return Ok(false);
        }
        let path = self.path(relative);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make the folder of {relative}"))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {relative}"))?;
        Ok(true)
    }

    /// The names in a folder, sorted; none when there is no such folder.
    pub(crate) fn names(&self, folder: &str) -> Result<Vec<String>> {
        let entries = match fs::read_dir(self.path(folder)) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error).with_context(|| format!("cannot list {folder}")),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot list {folder}"))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// All files below a folder whose name ends so, sorted by path.
    pub(crate) fn files_below(&self, folder: &str, ending: &str) -> Result<Vec<String>> {
        let mut files = Vec::new();
        for name in self.names(folder)? {
            let path = format!("{folder}/{name}");
            if self.path(&path).is_dir() {
                files.extend(self.files_below(&path, ending)?);
            } else if name.ends_with(ending) {
                files.push(path);
            }
        }
        Ok(files)
    }
}

/// An empty repository for one test. It is removed at the end.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Scratch(Repo);

#[cfg(test)]
impl Scratch {
    /// Tests run in parallel, so each gives a name of its own.
    pub(crate) fn new(test: &str) -> Self {
        let root = std::env::temp_dir().join(format!("redrive-xtask-{}-{test}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        Self(Repo { root })
    }
}

#[cfg(test)]
impl std::ops::Deref for Scratch {
    type Target = Repo;

    fn deref(&self) -> &Repo {
        &self.0
    }
}

#[cfg(test)]
impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0.root).ok();
    }
}
