//! Giving an XML its name: checked by its hash, written as a temp, synced, renamed. What is there and is something else stays.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use redrive_blob::Sha256;
use sha2::Digest;

/// What placing came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// It is new.
    New,
    /// The same bytes were there.
    Already,
    /// Something else is there.
    Taken,
    /// The bytes are not those that were promised.
    Damaged,
}

/// Writes outputs, and remembers which folders have new names to sync.
#[derive(Debug)]
pub(super) struct Placer {
    force: bool,
    /// How the names of our temps begin.
    prefix: String,
    folders: Mutex<Vec<PathBuf>>,
}

impl Placer {
    /// Temps begin with `.redrive-` and this name.
    pub(super) fn new(force: bool, name: &str) -> Self {
        Self { force, prefix: format!(".redrive-{name}-"), folders: Mutex::default() }
    }

    /// Removes temps that somebody of this name left when it was killed. Only for whoever is the only one of that name.
    pub(super) fn sweep<'a>(&self, outputs: impl Iterator<Item = &'a Path>) {
        let folders: BTreeSet<&Path> = outputs.map(folder_of).collect();
        for entry in folders.into_iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&self.prefix) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Whether this file is there with this content.
    pub(super) fn has(output: &Path, expected: &Sha256) -> io::Result<bool> {
        match File::open(output) {
            Ok(mut file) => Ok(hash(&mut file, &mut io::sink())? == expected.to_string()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Puts the bytes at `output`. Blocks.
    pub(super) fn place(&self, mut bytes: impl Read, expected: &Sha256, output: &Path) -> io::Result<Placed> {
        if Self::has(output, expected)? {
            return Ok(Placed::Already);
        }
        if !self.force && output.symlink_metadata().is_ok() {
            return Ok(Placed::Taken);
        }
        let folder = folder_of(output);
        fs::create_dir_all(folder)?;
        // As any new file: what the umask leaves.
        let mut temp = tempfile::Builder::new()
            .prefix(&self.prefix)
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        if hash(&mut bytes, temp.as_file_mut())? != expected.to_string() {
            return Ok(Placed::Damaged);
        }
        temp.as_file().sync_all()?;
        let named = if self.force { temp.persist(output) } else { temp.persist_noclobber(output) };
        match named {
            Ok(_) => {}
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => return Ok(Placed::Taken),
            Err(error) => return Err(error.error),
        }
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
        Ok(Placed::New)
    }

    /// Makes all new names durable, once for all of them. A name that a crash takes is made again by the next run.
    pub(super) fn sync(&self) -> io::Result<()> {
        let folders = std::mem::take(&mut *self.folders.lock().unwrap_or_else(PoisonError::into_inner));
        folders.iter().try_for_each(|folder| File::open(folder)?.sync_all())
    }
}

fn folder_of(output: &Path) -> &Path {
    output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Copies, and answers the hash of what passed.
fn hash(from: &mut impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut hash = sha2::Sha256::new();
    let mut buffer = vec![0; 128 << 10];
    loop {
        let count = from.read(&mut buffer)?;
        let Some(part) = buffer.get(..count).filter(|part| !part.is_empty()) else { break };
        hash.update(part);
        to.write_all(part)?;
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_unless_it_is_the_same_or_force_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("deep/a.xml");
        let (one, two) = (Sha256::of(b"<a/>"), Sha256::of(b"<b/>"));
        let placer = Placer::new(false, "t");
        assert_eq!(placer.place(&b"<a/>"[..], &one, &output).unwrap(), Placed::New);
        assert_eq!(placer.place(&b"<a/>"[..], &one, &output).unwrap(), Placed::Already);
        assert_eq!(placer.place(&b"<b/>"[..], &two, &output).unwrap(), Placed::Taken);
        assert_eq!(fs::read(&output).unwrap(), b"<a/>");
        assert_eq!(Placer::new(true, "t").place(&b"<b/>"[..], &two, &output).unwrap(), Placed::New);
        assert_eq!(fs::read(&output).unwrap(), b"<b/>");
        placer.sync().unwrap();
    }

    #[test]
    fn damaged_bytes_never_get_the_name_and_no_temp_stays() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("a.xml");
        let expected = Sha256::of(b"<a/>");
        let placer = Placer::new(true, "t");
        assert_eq!(placer.place(&b"<a"[..], &expected, &output).unwrap(), Placed::Damaged);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (other, output) = (folder.path().join("other"), folder.path().join("a.xml"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &output).unwrap();
        let expected = Sha256::of(b"<a/>");
        assert_eq!(Placer::new(false, "t").place(&b"<a/>"[..], &expected, &output).unwrap(), Placed::Taken);
        assert_eq!(Placer::new(true, "t").place(&b"<a/>"[..], &expected, &output).unwrap(), Placed::New);
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }

    #[test]
    fn temps_of_ones_own_that_were_left_are_swept_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".redrive-t-abc", ".redrive-u-abc", "t.xml"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        Placer::new(false, "t").sweep([folder.path().join("a.xml").as_path()].into_iter());
        let mut left: Vec<_> = folder.path().read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".redrive-u-abc", "t.xml"]);
    }
}
