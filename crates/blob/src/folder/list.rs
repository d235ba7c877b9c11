//! Walking the files under the root, a page at a time.
//!
//! Between two pages no thread is held; what is held is one handle per level. Links and everything that is neither a file
//! nor a folder are passed over.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::Errno;

use super::root::{Root, Stop, modified, size};
use crate::Result;
use crate::blobs::Listed;
use crate::blocking;
use crate::errno;
use crate::error::{Act, BlobError};
use crate::key::{Key, RESERVED};

/// So many files make a page.
const PAGE: usize = 256;

/// Everything below `under`, or below the root.
pub(super) fn list(root: Arc<Root>, under: Option<Key>) -> BoxStream<'static, Result<Listed>> {
    let pages =
        stream::try_unfold(Walk { root, under, levels: Vec::new(), begun: false }, |mut walk| async move {
            let (page, walk) = blocking::run(move || Ok((walk.page()?, walk))).await?;
            Ok::<_, BlobError>((!page.is_empty()).then_some((page, walk)))
        });
    pages
        .flat_map(|page| match page {
            Ok(page) => stream::iter(page.into_iter().map(Ok).collect::<Vec<_>>()),
            Err(error) => stream::iter(vec![Err(error)]),
        })
        .boxed()
}

struct Walk {
    root: Arc<Root>,
    under: Option<Key>,
    /// The open folders, with their keys; the last is being read.
    levels: Vec<(Dir, Option<String>)>,
    begun: bool,
}

impl Walk {
    /// The next files; none at the end.
    fn page(&mut self) -> Result<Vec<Listed>> {
        if !self.begun {
            self.begun = true;
            self.enter(self.under.as_ref().map(|key| key.as_str().to_owned()))?;
        }
        let mut page = Vec::new();
        while page.len() < PAGE {
            let Some((dir, folder)) = self.levels.last_mut() else { break };
            let entry = match dir.read() {
                None => {
                    self.levels.pop();
                    continue;
                }
                Some(Ok(entry)) => entry,
                Some(Err(e)) => return Err(errno::folder(Act::List, "reading a folder", e)),
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || name.starts_with(RESERVED.as_bytes()) {
                continue;
            }
            let path = std::str::from_utf8(name).ok().map(|name| match folder {
                Some(folder) => format!("{folder}/{name}"),
                None => name.to_owned(),
            });
            let Some(key) = path.and_then(|path| Key::parse(&path).ok()) else {
                tracing::warn!(event = "blob.name_unusable", name = %String::from_utf8_lossy(name).escape_debug(), "a file whose name cannot be used is passed over");
                continue;
            };
            self.visit(key, &mut page)?;
        }
        Ok(page)
    }

    /// A file joins the page, a folder is entered. What vanished meanwhile is passed over.
    fn visit(&mut self, key: Key, page: &mut Vec<Listed>) -> Result<()> {
        let Some((dir, _)) = self.levels.last() else { return Ok(()) };
        let stat = dir.fd().and_then(|fd| rustix::fs::statat(fd, key.split().1, AtFlags::SYMLINK_NOFOLLOW));
        let stat = match stat {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(e) => return Err(errno::folder(Act::List, "looking at a file", e)),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => page.push(Listed { key, bytes: size(&stat), modified: modified(&stat) }),
            FileType::Directory => self.enter(Some(key.as_str().to_owned()))?,
            FileType::Symlink => {
                tracing::debug!(event = "blob.link", name = key.as_str(), "a link is passed over");
            }
            _ => {}
        }
        Ok(())
    }

    fn enter(&mut self, folder: Option<String>) -> Result<()> {
        let way = match self.root.down(folder.as_deref(), false, Act::List) {
            Ok(way) => way,
            // Gone since, or not there at all.
            Err(Stop::Missing) => return Ok(()),
            // One folder that is closed to us, or a link by now, does not hide the others.
            Err(Stop::Failed(BlobError::Denied { reason, .. })) if !self.levels.is_empty() => {
                tracing::warn!(
                    event = "blob.folder_passed",
                    folder = folder.unwrap_or_default(),
                    reason,
                    "a folder is passed over"
                );
                return Ok(());
            }
            Err(Stop::Failed(error)) => return Err(error),
        };
        let dir = Dir::read_from(way.last()).map_err(|e| errno::folder(Act::List, "opening a folder", e))?;
        self.levels.push((dir, folder));
        Ok(())
    }
}
