//! `redrive demo`: everything, with a gateway that misbehaves on schedule, in a folder that is thrown away.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::args::{Demo, Shared};
use crate::demo::{self, Scene};
use crate::exit::{Exit, Stop};
use crate::logs::{self, Usual};
use crate::settings::table::LOGS;
use crate::settings::{self, Flags};
use crate::{signals, store};

/// What a demo leaves in its folder, so that the next one knows it.
const MARK: &str = ".redrive-demo";
/// Faster than this nothing could be seen, and slower neither.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=20.0;

pub(crate) fn run(shared: &Shared, flags: &Demo) -> Result<(), Stop> {
    // Of what is set here only logs count: a demo must never meet somebody's database.
    let said = settings::gather(shared, &Flags::<LOGS>::default());
    said.check(LOGS)?;
    logs::start(&said, Usual::Telling);
    if !SPEEDS.contains(&flags.speed) {
        return Err(Stop::new(Exit::Usage, "--speed must be from 0.1 to 20"));
    }
    if !flags.listen.ip().is_loopback() {
        let text = "--listen must be an address of this machine alone, such as 127.0.0.1:8080: a demo fetches private addresses for whoever asks";
        return Err(Stop::new(Exit::Usage, text));
    }
    let folder = Folder::open(flags.data_dir.as_deref())?;
    let scene = Scene { data: folder.path()?, listen: flags.listen, speed: flags.speed, kept: folder.kept() };
    signals::run(|stopped| demo::run(&scene, stopped))
}

/// Where everything is. One that nobody named goes with the demo.
enum Folder {
    Given(PathBuf),
    Made(TempDir),
}

impl Folder {
    fn open(given: Option<&Path>) -> Result<Self, Stop> {
        let Some(folder) = given else {
            // For its owner alone, like every data folder.
            let private = PermissionsExt::from_mode(0o700);
            let made = tempfile::Builder::new().prefix("redrive-demo-").permissions(private).tempdir();
            return made
                .map(Self::Made)
                .map_err(|error| Stop::new(Exit::Failed, format!("cannot make a folder: {error}")));
        };
        store::make_folder(folder)?;
        let empty = std::fs::read_dir(folder).map(|mut entries| entries.next().is_none());
        let mark = folder.join(MARK);
        if !mark.exists() {
            if !empty.map_err(|error| cannot(folder, &error))? {
                let text = format!(
                    "{} has files that no demo put there, and stays as it is: name an empty folder, or none",
                    folder.display()
                );
                return Err(Stop::new(Exit::Conflict, text));
            }
            std::fs::write(&mark, "").map_err(|error| cannot(folder, &error))?;
        }
        Ok(Self::Given(folder.to_owned()))
    }

    fn path(&self) -> Result<PathBuf, Stop> {
        let path = match self {
            Self::Given(path) => path,
            Self::Made(made) => made.path(),
        };
        path.canonicalize().map_err(|error| cannot(path, &error))
    }

    const fn kept(&self) -> bool {
        matches!(self, Self::Given(_))
    }
}

fn cannot(folder: &Path, error: &std::io::Error) -> Stop {
    Stop::new(Exit::Failed, format!("cannot use {}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_somebodys_files_is_left_alone_and_that_of_a_demo_is_taken_again() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("redrive.db"), "").unwrap();
        let stop = Folder::open(Some(dir.path())).err().unwrap();
        assert_eq!(stop.exit(), Exit::Conflict);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is put there");
        let new = dir.path().join("new");
        assert!(Folder::open(Some(&new)).unwrap().kept());
        std::fs::write(new.join("redrive.db"), "").unwrap();
        assert!(Folder::open(Some(&new)).unwrap().kept());
    }

    #[test]
    fn a_folder_that_nobody_named_goes_with_the_demo() {
        let folder = Folder::open(None).unwrap();
        let path = folder.path().unwrap();
        assert!(path.is_dir() && !folder.kept());
        assert_eq!(
            path.metadata().unwrap().permissions().mode() & 0o777,
            0o700,
            "nobody else reads its tokens"
        );
        drop(folder);
        assert!(!path.exists());
    }
}
