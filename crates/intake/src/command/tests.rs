use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use redrive_blob::{BlobsExt, Folder, Key};

use super::*;

struct Bench {
    home: tempfile::TempDir,
    blobs: Arc<dyn Blobs>,
}

impl Bench {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let blobs: Arc<dyn Blobs> = Arc::new(Folder::open(home.path().join("shelf")).await.unwrap());
        Self { home, blobs }
    }

    /// A program of a few lines of shell: `$1` is the PDF, `$2` the folder.
    fn command(&self, lines: &str) -> CommandOptions {
        let path = self.home.path().join("my tool");
        fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        CommandOptions {
            line: format!("'{}'", path.display()),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            timeout: Duration::from_secs(20),
            memory: Some(1 << 30),
            scratch: self.home.path().join("scratch"),
            max_result: 1 << 20,
        }
    }

    async fn run(&self, options: CommandOptions) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let command = Command::new(options).unwrap();
        let key = Key::parse("source.pdf").unwrap();
        let stored = self.blobs.head(&key).await.is_ok();
        if !stored {
            self.blobs.put_bytes(&key, bytes::Bytes::from_static(b"%PDF-1.7")).await.unwrap();
        }
        let reading = self.blobs.read(&key, None).await.unwrap();
        let prepared = command.prepare("Größe 1.pdf", reading.into()).await?;
        let mut left = command.process(&prepared, &*self.blobs).await?;
        let mut files = Vec::new();
        for (n, left) in left.iter_mut().enumerate() {
            let key = Key::parse(&format!("made/{n}")).unwrap();
            left.sealed.finish(&key).await.unwrap();
            files.push((
                left.suffix.clone(),
                fs::read(self.home.path().join("shelf").join(key.as_str())).unwrap(),
            ));
        }
        Ok(files)
    }

    fn scratch(&self) -> usize {
        fs::read_dir(self.home.path().join("scratch")).unwrap().count()
    }
}

#[tokio::test]
async fn what_it_leaves_is_the_result_and_nothing_else_stays() {
    let bench = Bench::new().await;
    let lines = r#"test "$(pwd)" = "$2" && test -z "$(ls "$2")" || exit 9
        mkdir "$2/pages"; cp "$1" "$2/pages/copy of it"; : > "$1"
        basename "$1" > "$2/Größe 1.xml"; echo made; echo log > "$2/log.txt""#;
    let files = bench.run(bench.command(lines)).await.unwrap();
    let expected: [(&str, &[u8]); 3] =
        [(".xml", "Größe 1.pdf\n".as_bytes()), ("/log.txt", b"log\n"), ("/pages/copy of it", b"%PDF-1.7")];
    let mut expected = expected.map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).to_vec();
    expected.sort();
    let mut files = files;
    files.sort();
    assert_eq!(files, expected);
    assert_eq!(bench.scratch(), 0, "its folder is gone");
}

#[tokio::test]
async fn its_failures_are_told_by_code_and_by_its_own_words() {
    for (lines, code, says) in [
        (
            "echo 'no such font' >&2; exit 3",
            Code::HandlerFailed,
            "the command ended with exit code 3: no such font",
        ),
        ("echo 'encrypted' >&2; exit 65", Code::HandlerRefused, "exit code 65: encrypted"),
        ("kill -9 $$", Code::HandlerFailed, "killed by signal 9"),
        ("exec sleep 1000", Code::HandlerTimeout, "did not end within 1s"),
        ("true", Code::HandlerFailed, "left nothing in its output folder"),
        ("ln -s /etc/passwd \"$2/a\"", Code::HandlerFailed, "no file: a"),
        ("ln -s /etc \"$2/a\"", Code::HandlerFailed, "no file: a"),
        ("mkfifo \"$2/a\"", Code::HandlerFailed, "no file: a"),
        ("cd /; rmdir \"$2\"; ln -s /etc \"$2\"", Code::IoError, "folder that the command works in"),
        ("head -c 2000000 /dev/zero > \"$2/a\"", Code::HandlerFailed, "more than 1048576 bytes"),
        (
            "for n in 1 2 3; do head -c 400000 /dev/zero > \"$2/$n\"; done",
            Code::HandlerFailed,
            "more than 1048576",
        ),
        (
            "i=0; while [ $i -lt 300 ]; do : > \"$2/$i\"; i=$((i+1)); done",
            Code::HandlerFailed,
            "more than 200 files",
        ),
        ("mkdir -p \"$2/1/2/3/4/5/6/7/8/9/10\"", Code::HandlerFailed, "more than 8 folders"),
        (
            "cd \"$2\"; a=$(printf 'a\\001'); b=$(printf 'a\\002'); : > \"$a\"; : > \"$b\"",
            Code::HandlerFailed,
            "name cannot be kept: a_",
        ),
        ("dd if=/dev/zero of=/dev/null bs=300M count=1", Code::HandlerFailed, "exit code 1: dd: "),
        ("printf 'token=CANARY \\033[31mred' >&2; exit 1", Code::HandlerFailed, "exit code 1: token=***"),
    ] {
        let bench = Bench::new().await;
        let options = bench.command(lines);
        let limit = if lines.contains("sleep") { Duration::from_secs(1) } else { options.timeout };
        let memory = if lines.starts_with("dd") { Some(64 << 20) } else { options.memory };
        let failure = bench.run(CommandOptions { timeout: limit, memory, ..options }).await.unwrap_err();
        assert_eq!(failure.code, code, "{lines}: {failure:?}");
        assert!(failure.message.contains(says), "{lines}: {}", failure.message);
        assert!(!failure.message.contains("CANARY") && !failure.message.contains('\u{1b}'), "{failure:?}");
        assert_eq!(bench.scratch(), 0, "{lines}");
    }
}

#[tokio::test]
async fn what_the_dead_left_is_removed_at_the_start() {
    let bench = Bench::new().await;
    let options = bench.command("true");
    fs::create_dir_all(options.scratch.join(".run-dead/out")).unwrap();
    fs::write(options.scratch.join(".run-dead/lock"), "").unwrap();
    Command::new(options).unwrap();
    assert_eq!(bench.scratch(), 0);
}

#[test]
fn a_full_disk_and_a_machine_without_handles_are_no_fault_of_the_command() {
    for (errno, code) in [
        (Errno::NOSPC, Code::DiskFull),
        (Errno::DQUOT, Code::DiskFull),
        (Errno::MFILE, Code::MemoryError),
        (Errno::NOMEM, Code::MemoryError),
        (Errno::IO, Code::IoError),
    ] {
        let failure = ours(&errno.into());
        assert_eq!(failure.code, code, "{errno:?}");
        assert_eq!(failure.target.is_some(), code != Code::IoError, "{errno:?}");
    }
}

#[tokio::test]
async fn a_line_that_cannot_be_run_is_said_at_the_start() {
    let bench = Bench::new().await;
    let options = bench.command("true");
    for line in ["", "'open", "no-such-program"] {
        let options = CommandOptions { line: line.to_owned(), ..options.clone() };
        assert!(matches!(Command::new(options), Err(CommandError::Program(_))), "{line}");
    }
    let scratch = bench.home.path().join("my tool/below");
    assert!(matches!(Command::new(CommandOptions { scratch, ..options }), Err(CommandError::Scratch(..))));
}
