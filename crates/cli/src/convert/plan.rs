//! Which file becomes which: decided before anything is begun, and the same whenever the same command is run.
//!
//! A file gets its own name with `.xml`. What lies in a folder that was named keeps its path below that folder. Where two would get
//! the same name, the later one gets a number, and no file ever takes the name of another.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Stop};

/// One file to convert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// As it was named, or found.
    pub(crate) input: PathBuf,
    /// Where its XML goes.
    pub(crate) output: PathBuf,
}

/// All files of a command. Stops before anything is begun when something that was named is not there.
pub(crate) fn plan(named: &[PathBuf], out: &Path) -> Result<Vec<Item>, Stop> {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for path in named {
        match look(path) {
            Ok(files) => found.extend(files),
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(path.display().to_string()),
            Err(error) => return Err(Stop::new(Exit::Failed, format!("{}: {error}", path.display()))),
        }
    }
    if !missing.is_empty() {
        let text = format!("not there: {}; nothing was converted", missing.join(", "));
        return Err(Stop::new(Exit::NotFound, text));
    }
    let mut seen = HashSet::new();
    found.retain(|(file, _)| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
    if found.is_empty() {
        return Err(Stop::new(Exit::NotFound, "there is no PDF in what was named; nothing was converted"));
    }
    Ok(name(found, out))
}

/// The files that a path stands for, each with its name below the out folder.
fn look(path: &Path) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    if !path.metadata()?.is_dir() {
        let name = path.file_name().unwrap_or(path.as_os_str());
        return Ok(vec![(path.to_owned(), PathBuf::from(name))]);
    }
    let mut files = BTreeSet::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir()? {
            let entry = entry?;
            let kind = entry.file_type()?;
            // A link to a folder may lead around in a circle.
            if kind.is_dir() {
                folders.push(entry.path());
            } else if is_pdf(&entry.path()) && entry.path().is_file() {
                files.insert(entry.path());
            }
        }
    }
    let below = |file: PathBuf| {
        let name = file.strip_prefix(path).unwrap_or(&file).to_owned();
        (file, name)
    };
    Ok(files.into_iter().map(below).collect())
}

fn is_pdf(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("pdf"))
}

fn name(found: Vec<(PathBuf, PathBuf)>, out: &Path) -> Vec<Item> {
    let wish = |name: &Path| if is_pdf(name) { name.with_extension("xml") } else { added(name, ".xml") };
    // Names that are somebody's own come first, so that a number never takes one of them.
    let own: HashSet<PathBuf> = found.iter().map(|(_, name)| wish(name)).collect();
    let mut taken = HashSet::new();
    let mut items = Vec::with_capacity(found.len());
    for (input, name) in found {
        let wished = wish(&name);
        let mut output = wished.clone();
        let mut number = 2;
        while (output != wished && own.contains(&output)) || !taken.insert(output.clone()) {
            output = added(&wished.with_extension(""), &format!("-{number}.xml"));
            number += 1;
        }
        items.push(Item { input, output: out.join(output) });
    }
    items
}

fn added(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or(OsStr::new("file")).to_owned();
    name.push(ending);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file).unwrap();
        }
        folder
    }

    fn outputs(folder: &tempfile::TempDir, named: &[&str]) -> Vec<String> {
        let named: Vec<_> = named.iter().map(|name| folder.path().join(name)).collect();
        let items = plan(&named, Path::new("out")).unwrap();
        items.iter().map(|item| item.output.display().to_string()).collect()
    }

    #[test]
    fn a_file_keeps_its_name_and_a_folder_its_shape() {
        let folder = folder(&["a.pdf", "in/b.PDF", "in/deep/c.pdf", "in/readme.txt", "d.scan"]);
        assert_eq!(
            outputs(&folder, &["a.pdf", "in", "d.scan"]),
            ["out/a.xml", "out/b.xml", "out/deep/c.xml", "out/d.scan.xml"]
        );
    }

    #[test]
    fn namesakes_get_numbers_and_never_the_name_of_another() {
        let folder = folder(&["1/x.pdf", "2/x.pdf", "3/x.pdf", "x-2.pdf"]);
        let first = outputs(&folder, &["1/x.pdf", "2/x.pdf", "3/x.pdf", "x-2.pdf"]);
        assert_eq!(first, ["out/x.xml", "out/x-3.xml", "out/x-4.xml", "out/x-2.xml"]);
        assert_eq!(first, outputs(&folder, &["1/x.pdf", "2/x.pdf", "3/x.pdf", "x-2.pdf"]));
    }

    #[test]
    fn a_file_that_was_named_twice_is_one() {
        let folder = folder(&["in/a.pdf"]);
        assert_eq!(outputs(&folder, &["in/a.pdf", "in/../in/a.pdf", "in"]), ["out/a.xml"]);
    }

    #[test]
    fn everything_that_is_missing_is_told_before_anything_begins() {
        let folder = folder(&["a.pdf", "empty/none.txt"]);
        let at = |name: &str| folder.path().join(name);
        let stop = plan(&[at("a.pdf"), at("gone.pdf"), at("away.pdf")], Path::new("out")).unwrap_err();
        assert_eq!(stop.exit(), Exit::NotFound);
        assert!(stop.message().contains("gone.pdf") && stop.message().contains("away.pdf"));
        assert_eq!(plan(&[at("empty")], Path::new("out")).unwrap_err().exit(), Exit::NotFound);
    }
}
