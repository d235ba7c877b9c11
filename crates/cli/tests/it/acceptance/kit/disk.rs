//! A disk of its own, small enough to be filled.

use std::path::{Path, PathBuf};
use std::process::Command;

/// It is unmounted when it is dropped.
pub(crate) struct SmallDisk {
    at: PathBuf,
    _home: tempfile::TempDir,
}

impl SmallDisk {
    /// A disk of so many MiB; nothing where this process may not mount one.
    pub(crate) fn mount(megabytes: u64) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().join("disk");
        std::fs::create_dir(&at).unwrap();
        let size = format!("size={megabytes}m,mode=0700");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&at).output();
        if !mounted.is_ok_and(|mounted| mounted.status.success()) {
            println!("this process may not mount a small disk: skipped");
            return None;
        }
        Some(Self { at, _home: home })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.at
    }

    /// Takes all the room that is left.
    pub(crate) fn fill(&self) {
        let piece = vec![0; 1 << 20];
        let mut ballast = std::fs::File::create(self.at.join("ballast")).unwrap();
        for size in [1 << 20, 1 << 12, 1] {
            while std::io::Write::write_all(&mut ballast, &piece[..size]).is_ok() {}
        }
    }

    /// Gives it back.
    pub(crate) fn free(&self) {
        std::fs::remove_file(self.at.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}
