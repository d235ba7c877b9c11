//! Programs and files that only some machines have. Where one is missing a test says so and ends.

use std::path::PathBuf;
use std::process::Command;

/// Whether the program can be started; says so where it cannot.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

/// A file of the schema folder beside the repository; says so where it is missing.
pub(crate) fn schema(path: &str) -> Option<PathBuf> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/xsd").join(path);
    if !file.is_file() {
        println!("skipped: there is no schema {path}");
        return None;
    }
    Some(file)
}
