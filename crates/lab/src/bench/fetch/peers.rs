//! What others use for the same: curl, aria2, img2dataset. They sync nothing and remember nothing but the files.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::Task;

/// curl with so many transfers at a time.
pub fn curl(task: &Task) -> Result<Command> {
    let list = list(task, "curl", |text, n| {
        let _ = writeln!(text, "url = \"{}\"\noutput = \"{}/{n}\"", task.url(n), task.into.display());
    })?;
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--fail"]);
    if task.at_once > 1 {
        command.args(["--parallel", "--parallel-immediate", "--parallel-max", &task.at_once.to_string()]);
    }
    command.arg("--config").arg(list);
    Ok(command)
}

/// aria2 with so many downloads at a time, one connection each.
pub fn aria2(task: &Task) -> Result<Command> {
    let list = list(task, "aria2", |text, n| {
        let _ = writeln!(text, "{}\n  out={n}", task.url(n));
    })?;
    let mut command = Command::new("aria2c");
    command.args(["--quiet", "--file-allocation=none", "--split=1", "--max-connection-per-server=1"]);
    command.arg(format!("--max-concurrent-downloads={}", task.at_once));
    command.arg("--dir").arg(&task.into).arg("--input-file").arg(list);
    Ok(command)
}

/// img2dataset that only downloads: nothing is decoded or resized. Two processes share the threads.
pub fn img2dataset(program: &Path, task: &Task) -> Result<Command> {
    let list = list(task, "txt", |text, n| {
        let _ = writeln!(text, "{}", task.url(n));
    })?;
    let mut command = Command::new(program);
    command.arg("--url_list").arg(list).arg("--output_folder").arg(&task.into);
    command.args(["--processes_count", "2", "--thread_count", &(task.at_once / 2).max(1).to_string()]);
    command.args(["--resize_mode", "no", "--disable_all_reencoding", "True", "--output_format", "files"]);
    command.args(["--input_format", "txt", "--enable_wandb", "False", "--retries", "0"]);
    command.env("NO_ALBUMENTATIONS_UPDATE", "1");
    Ok(command)
}

/// What the peer reads its URLs from, beside the folder that it fills.
fn list(task: &Task, kind: &str, mut line: impl FnMut(&mut String, usize)) -> Result<std::path::PathBuf> {
    std::fs::create_dir_all(&task.into)?;
    let mut text = String::new();
    (0..task.objects).for_each(|n| line(&mut text, n));
    let path = task.into.with_extension(kind);
    std::fs::write(&path, text)?;
    Ok(path)
}

/// How many objects a peer has stored, wherever it put them.
pub fn stored(folder: &Path, bytes: u64) -> Result<usize> {
    let mut found = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found += stored(&entry.path(), bytes)?;
        } else {
            found += usize::from(entry.metadata()?.len() == bytes);
        }
    }
    Ok(found)
}
