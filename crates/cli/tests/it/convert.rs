//! `redrive convert`, on its own and through a server.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use redrive_gateway::sample::{hello, page};

use crate::fake_gateway::FakeGateway;
use crate::process::redrive;
use crate::running::{Running, wait_for};

/// A folder with PDFs, and where commands are run.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        for (name, bytes) in files {
            let path = desk.at(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        desk
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        self.run_with(args, &[])
    }

    fn run_with(&self, args: &[&str], settings: &[(&str, &str)]) -> (Option<i32>, String, String) {
        let output =
            redrive(args).current_dir(self.0.path()).envs(settings.iter().copied()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

fn marked(number: usize) -> Vec<u8> {
    page(&format!("BT /F1 12 Tf 72 700 Td (marker-{number:04}) Tj ET"))
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn xmls(folder: &Path) -> Vec<String> {
    names(folder).into_iter().filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn files_and_folders_become_xml_and_a_second_run_leaves_them_alone() {
    let one = marked(1);
    let desk = Desk::new(&[
        ("a.pdf", &hello()),
        ("b/a.pdf", &one),
        ("in/deep/c.PDF", &marked(2)),
        ("in/d.pdf", &hello()),
        ("in/readme.txt", b"no"),
    ]);
    let args = ["convert", "a.pdf", "b/a.pdf", "in", "--out", "xml"];
    let (code, out, said) = desk.run(&args);
    assert_eq!(code, Some(0), "{out}{said}");
    assert_eq!(names(&desk.at("xml")), ["a-2.xml", "a.xml", "d.xml", "deep"], "{out}");
    assert!(fs::read_to_string(desk.at("xml/a.xml")).unwrap().to_lowercase().contains("hello"));
    assert!(fs::read_to_string(desk.at("xml/a-2.xml")).unwrap().contains("marker-0001"));
    assert_eq!(fs::read(desk.at("xml/a.xml")).unwrap(), fs::read(desk.at("xml/d.xml")).unwrap());
    assert!(out.contains("b/a.pdf → xml/a-2.xml") && said.contains("4 converted"), "{out}{said}");
    let before = fs::metadata(desk.at("xml/a-2.xml")).unwrap();
    assert_eq!(before.mode() & 0o400, 0o400);
    let (code, out, said) = desk.run(&args);
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("(as it was)") && said.contains("0 converted, 4 as they were"), "{out}{said}");
    let after = fs::metadata(desk.at("xml/a-2.xml")).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
}

#[test]
fn without_out_the_xml_lies_in_the_current_folder_and_a_mapping_is_chosen() {
    let desk = Desk::new(&[("in/a.pdf", &hello())]);
    let (code, _, said) = desk.run(&["convert", "in/a.pdf", "--mapping", "tei"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(fs::read_to_string(desk.at("a.xml")).unwrap().contains("<TEI"));
    let (code, _, said) = desk.run(&["convert", "in/a.pdf", "--mapping", "word"]);
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("there are text, alto, tei, docbook"), "{said}");
}

#[test]
fn each_failed_file_has_a_line_with_its_code_and_what_to_do_and_the_others_are_done() {
    let large = [hello(), vec![b' '; 20_000]].concat();
    let desk = Desk::new(&[
        ("good.pdf", &hello()),
        ("text.pdf", b"hello"),
        ("broken.pdf", b"%PDF-1.7\nnothing\ntrailer\n"),
        ("large.pdf", &large),
        ("empty.pdf", b""),
    ]);
    let all = ["convert", "good.pdf", "text.pdf", "broken.pdf", "large.pdf", "empty.pdf", "--out", "xml"];
    let limit = [("MAX_UPLOAD_BYTES", "10000")];
    let (code, out, said) = desk.run_with(&all, &limit);
    assert_eq!(code, Some(7), "{out}{said}");
    assert_eq!(names(&desk.at("xml")), ["good.xml"]);
    let line = |file: &str| said.lines().find(|line| line.contains(&format!("redrive: {file}: "))).unwrap();
    assert!(line("text.pdf").contains("NOT_PDF: Only PDF files are supported."), "{said}");
    assert!(line("empty.pdf").contains("NOT_PDF"), "{said}");
    assert!(line("large.pdf").contains("TOO_LARGE") && line("large.pdf").contains("10000 bytes"), "{said}");
    assert!(
        line("broken.pdf").contains("GW_4XX: ") && line("broken.pdf").contains("check that the PDF opens"),
        "{said}"
    );
    assert!(said.lines().last().unwrap().ends_with("1 converted, 4 failed"), "{said}");
    assert_eq!(said.lines().count(), 5, "each failure is told once: {said}");
    let (code, out, _) = desk.run_with(&[&all[..], &["--json"]].concat(), &limit);
    assert_eq!((code, out.lines().count()), (Some(7), 5), "{out}");
    for line in out.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let good = line["file"] == "good.pdf";
        assert_eq!(line["status"], if good { "complete" } else { "failed" }, "{line}");
        assert_eq!(line["already"], good, "{line}");
        assert_eq!(line["error"]["what_you_can_do"].is_string(), !good, "{line}");
        assert_eq!(line["sha256"].is_string(), good, "{line}");
    }
}

#[test]
fn what_is_not_there_is_told_before_anything_is_begun() {
    let desk = Desk::new(&[("a.pdf", &hello())]);
    let (code, _, said) = desk.run(&["convert", "a.pdf", "gone.pdf", "--out", "xml"]);
    assert_eq!((code, said.lines().count()), (Some(3), 1), "{said}");
    assert!(said.contains("gone.pdf"), "{said}");
    assert_eq!(names(desk.0.path()), ["a.pdf"]);
    assert_eq!(desk.run(&["convert"]).0, Some(2));
}

#[test]
fn a_file_that_is_there_and_is_something_else_stays_unless_force_is_said() {
    let desk = Desk::new(&[("a.pdf", &hello()), ("a.xml", b"mine")]);
    let (code, _, said) = desk.run(&["convert", "a.pdf"]);
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("./a.xml is there already") && said.contains("--force"), "{said}");
    assert_eq!(fs::read(desk.at("a.xml")).unwrap(), b"mine");
    let (code, _, said) = desk.run(&["convert", "a.pdf", "--force"]);
    assert_eq!(code, Some(0), "{said}");
    assert_ne!(fs::read(desk.at("a.xml")).unwrap(), b"mine");
    fs::remove_file(desk.at("a.xml")).unwrap();
    let (code, _, said) = desk.run(&["convert", "a.pdf"]);
    assert_eq!(code, Some(0), "an XML that somebody removed is made again: {said}");
    assert!(desk.at("a.xml").is_file());
}

/// Starts it in a folder of its own, with forty files and a gateway that answers ten.
fn in_the_middle(desk: &Desk, gateway: &FakeGateway) -> Running {
    let (files, out, data) = (desk.at("in"), desk.at("xml"), desk.at("data"));
    let args = [
        "convert",
        files.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--data-dir",
        data.to_str().unwrap(),
    ];
    let running = Running::start(&args, &[("GATEWAY_URL", &gateway.url), ("WORKER_CONCURRENCY", "3")]);
    wait_for("ten XMLs", || (xmls(&out).len() == 10 && gateway.asked().len() > 10).then_some(()));
    running
}

fn forty() -> Desk {
    let files: Vec<(String, Vec<u8>)> = (0..40).map(|n| (format!("in/{n:02}.pdf"), marked(n))).collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    Desk::new(&files)
}

#[test]
fn killed_in_the_middle_the_same_command_goes_on_and_converts_nothing_twice_that_was_finished() {
    let (desk, gateway) = (forty(), FakeGateway::holding_after(10));
    let mut running = in_the_middle(&desk, &gateway);
    running.signal("-KILL");
    assert_eq!(running.ended(), None);
    let finished: Vec<(String, u64)> = xmls(&desk.at("xml"))
        .into_iter()
        .map(|name| (name.clone(), fs::metadata(desk.at("xml").join(name)).unwrap().ino()))
        .collect();
    // What a kill in the middle of a write leaves.
    let state = names(&desk.at("data/convert")).remove(0);
    fs::write(desk.at("xml").join(format!(".redrive-{state}-abc")), "<half").unwrap();
    let asked_before = gateway.asked().len();
    gateway.release();
    let (files, out, data) = (desk.at("in"), desk.at("xml"), desk.at("data"));
    let args = [
        "convert",
        files.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--data-dir",
        data.to_str().unwrap(),
    ];
    let began = std::time::Instant::now();
    let (code, _, said) = desk.run_with(&args, &[("GATEWAY_URL", &gateway.url)]);
    assert_eq!(code, Some(0), "{said}");
    assert!(began.elapsed().as_secs() < 30, "it must not wait for the leases of the dead");
    assert!(said.contains("30 converted, 10 as they were"), "{said}");
    assert_eq!(names(&out).len(), 40);
    for n in 0..40 {
        let xml = fs::read_to_string(out.join(format!("{n:02}.xml"))).unwrap();
        assert_eq!(xml, format!("<doc marker=\"{n:04}\"/>"));
    }
    for (name, ino) in &finished {
        assert_eq!(fs::metadata(out.join(name)).unwrap().ino(), *ino, "{name} was written again");
        let marker = format!("00{}", name.trim_end_matches(".xml"));
        assert!(!gateway.asked()[asked_before..].contains(&marker), "{name} was converted again");
    }
    assert_eq!(gateway.asked().len(), asked_before + 30);
}

#[test]
fn interrupted_once_it_finishes_what_has_begun_and_the_same_command_goes_on() {
    let (desk, gateway) = (forty(), FakeGateway::holding_after(10));
    let mut running = in_the_middle(&desk, &gateway);
    running.signal("-INT");
    wait_for("its answer", || running.err().contains("stopping after what has begun").then_some(()));
    gateway.release();
    assert_eq!(running.ended(), Some(130), "{}", running.err());
    assert!(running.err().contains("the same command goes on from here"), "{}", running.err());
    let done = names(&desk.at("xml")).len();
    assert!((11..40).contains(&done), "what had begun is finished and no more is begun: {done}");
    assert_eq!(gateway.answered(), done);
    let (files, out, data) = (desk.at("in"), desk.at("xml"), desk.at("data"));
    let args = [
        "convert",
        files.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--data-dir",
        data.to_str().unwrap(),
    ];
    let (code, _, said) = desk.run_with(&args, &[("GATEWAY_URL", &gateway.url)]);
    assert_eq!((code, names(&out).len(), gateway.asked().len()), (Some(0), 40, 40), "{said}");
}

#[test]
fn interrupted_twice_it_ends_at_once() {
    let (desk, gateway) = (forty(), FakeGateway::holding_after(10));
    let mut running = in_the_middle(&desk, &gateway);
    running.signal("-INT");
    wait_for("its answer", || running.err().contains("stopping after what has begun").then_some(()));
    let began = std::time::Instant::now();
    running.signal("-INT");
    assert_eq!(running.ended(), Some(130));
    assert!(began.elapsed().as_secs() < 10);
}

#[test]
fn while_the_gateway_is_down_files_wait_and_that_is_said() {
    let (desk, gateway) = (forty(), FakeGateway::holding_after(usize::MAX));
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let (files, out, data) = (desk.at("in"), desk.at("xml"), desk.at("data"));
    let args = [
        "convert",
        files.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--data-dir",
        data.to_str().unwrap(),
    ];
    let mut running = Running::start(&args, &[("GATEWAY_URL", &nobody)]);
    wait_for("a note", || running.err().contains("the gateway does not answer; files wait").then_some(()));
    running.signal("-INT");
    assert_eq!(running.ended(), Some(130));
    let began = std::time::Instant::now();
    let (code, _, said) = desk.run_with(&args, &[("GATEWAY_URL", &gateway.url)]);
    assert_eq!((code, names(&out).len()), (Some(0), 40), "{said}");
    assert!(began.elapsed().as_secs() < 20, "nothing of it is held against the new gateway");
}

#[test]
fn a_second_one_on_the_same_out_folder_says_so_and_touches_nothing() {
    let (desk, gateway) = (forty(), FakeGateway::holding_after(10));
    let running = in_the_middle(&desk, &gateway);
    let (files, out, data) = (desk.at("in"), desk.at("xml"), desk.at("data"));
    let args = [
        "convert",
        files.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--data-dir",
        data.to_str().unwrap(),
    ];
    let (code, _, said) = desk.run_with(&args, &[("GATEWAY_URL", &gateway.url)]);
    assert_eq!((code, said.lines().count()), (Some(5), 1), "{said}");
    assert_eq!(names(&out).len(), 10);
    drop(running);
}

#[test]
fn where_a_server_runs_it_does_the_work() {
    let desk = Desk::new(&[("a.pdf", &hello()), ("b.pdf", &marked(7)), ("c.pdf", b"no pdf")]);
    let data = desk.at("data");
    let server = Running::serve(&data, &[]);
    let _ = crate::running::server_file(&data);
    let args = ["convert", "a.pdf", "b.pdf", "c.pdf", "--out", "xml", "--data-dir", "data"];
    for already in [false, true] {
        let (code, out, said) = desk.run(&args);
        assert_eq!(code, Some(7), "{out}{said}");
        assert!(said.contains("redrive: c.pdf: NOT_PDF"), "{said}");
        assert_eq!(out.contains("(as it was)"), already, "{out}");
        assert_eq!(names(&desk.at("xml")), ["a.xml", "b.xml"]);
    }
    let jobs = server.operate(&data, "GET", "/api/jobs").json();
    assert_eq!(jobs["counts"]["complete"], 2, "the same files are the same jobs: {jobs}");
    assert!(!data.join("convert").exists());
    let (code, _, said) = desk.run(&["convert", "a.pdf", "--mapping", "word", "--data-dir", "data"]);
    assert_eq!(code, Some(2), "{said}");
    let url = crate::running::server_file(&data)["url"].as_str().unwrap().to_owned();
    let (code, _, said) = desk.run(&["convert", "b.pdf", "--out", "other", "--server", &url]);
    assert_eq!((code, names(&desk.at("other"))), (Some(0), vec!["b.xml".to_owned()]), "{said}");
    drop(server);
    let (code, _, said) = desk.run(&["convert", "a.pdf", "--out", "alone", "--data-dir", "data"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("does not answer; converting without it"), "a server that was killed: {said}");
    let (code, _, said) = desk.run(&["convert", "b.pdf", "--out", "no", "--server", &url]);
    assert_eq!((code, said.lines().count()), (Some(6), 1), "{said}");
}
