//! Neighbours that repeat everything they were told: a gateway, a bucket, a proxy, an origin, a mail server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Listens on loopback, and answers each connection on a thread of its own.
fn listen(answer: impl Fn(TcpStream) -> std::io::Result<()> + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || drop(answer(stream)));
        }
    });
    address
}

/// One request: its head, its body read and thrown away.
fn head(stream: &TcpStream) -> std::io::Result<String> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut length) = (String::new(), 0u64);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        head.push_str(&line);
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    Ok(head)
}

fn say(mut stream: TcpStream, status: &str, kind: &str, more: &str, body: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{more}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// What it was told, on one line.
fn flat(head: &str) -> String {
    head.replace(['\r', '\n', '<', '>', '&'], " ")
}

/// A gateway that refuses each file with everything that it heard.
pub(super) fn gateway() -> String {
    listen(|stream| {
        let heard = head(&stream)?;
        let (status, body) = match heard.starts_with("POST") {
            true => (
                "422 You said it",
                format!("{{\"code\":\"PARSE_ERROR\",\"detail\":\"{}\"}}", flat(&heard).replace('"', "'")),
            ),
            false => ("503 Not now", flat(&heard)),
        };
        say(stream, status, "application/problem+json", "", &body)
    })
}

/// A bucket that lets nobody in, and says who came.
pub(super) fn s3() -> String {
    let address = listen(|stream| {
        let heard = flat(&head(&stream)?);
        let body = format!(
            "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>{heard}</Message></Error>"
        );
        say(stream, "403 Forbidden", "application/xml", "", &body)
    });
    format!("http://{address}")
}

/// A proxy that does not know us, and says whom.
pub(super) fn proxy() -> String {
    listen(|stream| {
        let heard = flat(&head(&stream)?);
        say(stream, &format!("407 {heard}"), "text/plain", "", &heard)
    })
}

/// An origin that has nothing, says who asked, and sends some elsewhere.
pub(super) fn origin() -> String {
    listen(|stream| {
        let heard = head(&stream)?;
        let path = heard.split(' ').nth(1).unwrap_or("/").to_owned();
        if path.starts_with("/elsewhere") {
            let more = format!("location: ftp://cnry-u-user:cnry-u-word@127.0.0.1{path}\r\n");
            return say(stream, "302 Found", "text/plain", &more, &flat(&heard));
        }
        if path.starts_with("/broken") {
            return Ok(());
        }
        say(stream, &format!("403 {}", flat(&heard)), "text/plain", "", &flat(&heard))
    })
}

/// A mail server that refuses whoever comes, and says who it was.
pub(super) fn mail() -> String {
    listen(|stream| {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let mut to = stream;
        write!(to, "220 parrot ESMTP\r\n")?;
        while let Some(line) = lines.next().transpose()? {
            match line.split(' ').next().unwrap_or_default().to_ascii_uppercase().as_str() {
                "EHLO" => write!(to, "250-parrot\r\n250 AUTH PLAIN LOGIN\r\n")?,
                "AUTH" => write!(to, "535 5.7.8 you said {line}\r\n")?,
                "QUIT" => return write!(to, "221 bye\r\n"),
                _ => write!(to, "554 5.7.1 you said {line}\r\n")?,
            }
        }
        Ok(())
    })
}
