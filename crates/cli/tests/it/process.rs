//! Starting the binary and reading what it says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// The binary, with an environment that holds none of our settings.
pub(crate) fn redrive(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.args(args);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if !["PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH"].contains(&name.as_str())
            && !name.starts_with("LLVM_")
        {
            command.env_remove(name);
        }
    }
    command
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    redrive(args).output().unwrap()
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    pub(crate) address: String,
}

impl Server {
    /// Starts it on a free port and waits for its first line.
    pub(crate) fn start(data: &Path) -> Self {
        let args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
        Self::spawn(&args, "redrive listening on http://")
    }

    /// Starts the gateway alone, with these flags.
    pub(crate) fn gateway(flags: &[&str]) -> Self {
        let args = [&["gateway", "--listen", "127.0.0.1:0"], flags].concat();
        Self::spawn(&args, "redrive gateway listening on http://")
    }

    fn spawn(args: &[&str], says: &str) -> Self {
        let mut child = redrive(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        let address = first.trim().strip_prefix(says).unwrap_or_else(|| panic!("{first:?}")).to_owned();
        Self { child, lines, address }
    }

    /// Sends a form and answers status and body.
    pub(crate) fn post_form(&self, path: &str, mapping: &str, file: &[u8]) -> (u16, String) {
        let field = format!("--x\r\ncontent-disposition: form-data; name=\"mapping\"\r\n\r\n{mapping}\r\n");
        let head = "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n";
        let body = [field.as_bytes(), head.as_bytes(), file, b"\r\n--x--\r\n"].concat();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        )
        .unwrap();
        write!(stream, "content-type: multipart/form-data; boundary=x\r\n\r\n").unwrap();
        stream.write_all(&body).unwrap();
        answer(stream)
    }

    /// What it answers: status and body.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        answer(stream)
    }

    /// Sends a signal by pid, waits for the end, and answers the exit code and the rest of its output.
    pub(crate) fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let code = self.child.wait().unwrap().code();
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        (code, rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}
