//! The files that a program left: regular ones, few, not too large, with names that can be keys. Anything else is its failure, and
//! nothing is followed to anywhere.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use redrive_blob::{Blobs, Key, MAX_SEGMENT_BYTES};
use redrive_engine::{Code, Failure};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::{Left, copy, ours};
use crate::layout::stem;

/// More files than this are none that belong to one document.
const MAX_FILES: usize = 200;
/// Folders inside each other.
const MAX_DEPTH: usize = 8;

/// Uploads all of them, in the order of their names.
pub(super) async fn all(
    folder: &Path,
    document: &str,
    blobs: &dyn Blobs,
    max_result: u64,
) -> Result<Vec<Left>, Failure> {
    let at = folder.to_owned();
    let found = tokio::task::spawn_blocking(move || find(&at)).await;
    let found = found.map_err(|error| Failure::new(Code::SystemInternal, error))??;
    if found.is_empty() {
        return Err(failed("the command left nothing in its output folder"));
    }
    let (mut left, mut room) = (Vec::with_capacity(found.len()), max_result);
    for (path, file) in found {
        let bytes = file.metadata().map_err(|error| ours(&error))?.len();
        room = room.checked_sub(bytes).ok_or_else(|| {
            failed(&format!("the command left more than {max_result} bytes in its output folder"))
        })?;
        let sealed = copy::upload(file, blobs, bytes).await?;
        left.push(Left { suffix: suffix(&path, document), sealed });
    }
    Ok(left)
}

/// A file that is called as its document is lies beside it, with its own ending; everything else in a folder of that name.
fn suffix(path: &str, document: &str) -> String {
    let ending = path.strip_prefix(stem(document)).filter(|ending| {
        !path.contains('/')
            && ending.len() > 1
            && ending.starts_with('.')
            && !ending.eq_ignore_ascii_case(".pdf")
    });
    ending.map_or_else(|| format!("/{path}"), str::to_owned)
}

/// All files below a folder by their paths, open.
fn find(folder: &Path) -> Result<BTreeMap<String, File>, Failure> {
    let root = rustix::fs::open(folder, OPEN_FOLDER, Mode::empty()).map_err(|e| ours(&e.into()))?;
    let (mut found, mut next) = (BTreeMap::new(), vec![(root, String::new(), 0_usize)]);
    while let Some((folder, above, depth)) = next.pop() {
        for name in names(&folder)? {
            let path = format!("{above}{}", safe(&name));
            match open(&folder, &name, &path)? {
                Found::File(file) => {
                    if found.len() == MAX_FILES {
                        return Err(failed(&format!("the command left more than {MAX_FILES} files")));
                    }
                    if Key::parse(&path).is_err() || found.insert(path.clone(), file).is_some() {
                        return Err(failed(&format!(
                            "the command left a file whose name cannot be kept: {path}"
                        )));
                    }
                }
                Found::Folder(_) if depth == MAX_DEPTH => {
                    return Err(failed(&format!(
                        "the command left more than {MAX_DEPTH} folders inside each other"
                    )));
                }
                Found::Folder(folder) => next.push((folder, format!("{path}/"), depth + 1)),
            }
        }
    }
    Ok(found)
}

const OPEN_FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A pipe must not make us wait.
const OPEN_FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

enum Found {
    File(File),
    Folder(OwnedFd),
}

fn names(folder: impl AsFd) -> Result<Vec<CString>, Failure> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder).map_err(|e| ours(&e.into()))? {
        let name = entry.map_err(|e| ours(&e.into()))?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

/// Opens what has a name in a folder. What it was when it was looked at it must be when it is open.
fn open(folder: &OwnedFd, name: &CString, path: &str) -> Result<Found, Failure> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|e| ours(&e.into()))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let flags = match kind {
        FileType::RegularFile => OPEN_FILE,
        FileType::Directory => OPEN_FOLDER,
        _ => return Err(failed(&format!("the command left something that is no file: {path}"))),
    };
    let opened = rustix::fs::openat(folder, name, flags, Mode::empty());
    let opened =
        opened.map_err(|e| failed(&format!("the command left a file that cannot be read: {path}: {e}")))?;
    let now = rustix::fs::fstat(&opened).map_err(|e| ours(&e.into()))?;
    match FileType::from_raw_mode(now.st_mode) {
        FileType::RegularFile if kind == FileType::RegularFile => Ok(Found::File(opened.into())),
        FileType::Directory if kind == FileType::Directory => Ok(Found::Folder(opened)),
        _ => Err(failed(&format!("the command left something that changes: {path}"))),
    }
}

/// A name as a segment of a key: what hides or splits names becomes `_`, and what is too long is cut before its end.
fn safe(name: &CString) -> String {
    let text = String::from_utf8_lossy(name.to_bytes());
    let text: String = text
        .chars()
        .map(|c| if c.is_control() || c == '\\' || c == char::REPLACEMENT_CHARACTER { '_' } else { c })
        .collect();
    let text = match text.strip_prefix(".redrive-") {
        Some(rest) => format!("_redrive-{rest}"),
        None => text,
    };
    let mut end = text.len().min(MAX_SEGMENT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

fn failed(text: &str) -> Failure {
    Failure::new(Code::HandlerFailed, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_as_the_document_is_lies_beside_it() {
        for (path, document, expected) in [
            ("a.xml", "a.pdf", ".xml"),
            ("a.tei.xml", "a.pdf", ".tei.xml"),
            ("a.b.xml", "a.b.pdf", ".xml"),
            ("a.pdf", "a.pdf", "/a.pdf"),
            ("a.PDF", "a.pdf", "/a.PDF"),
            ("a.", "a.pdf", "/a."),
            ("ab.xml", "a.pdf", "/ab.xml"),
            ("pages/a.png", "a.pdf", "/pages/a.png"),
            ("log.txt", "a.pdf", "/log.txt"),
        ] {
            assert_eq!(suffix(path, document), expected, "{path}");
        }
    }

    #[test]
    fn names_become_safe() {
        let name = |bytes: &[u8]| safe(&CString::new(bytes).unwrap());
        assert_eq!(name("Größe 1.xml".as_bytes()), "Größe 1.xml");
        assert_eq!(name(b"a\nb\\c\x1b\xff"), "a_b_c__");
        assert_eq!(name(b".redrive-x"), "_redrive-x");
    }
}
