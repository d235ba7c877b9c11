//! `redrive gateway`.

use crate::process::{Server, run};

#[test]
fn it_converts_refuses_and_ends_when_told() {
    let gateway = Server::gateway(&[]);
    let (status, xml) = gateway.post_form("/process", "text", &redrive_gateway::sample::hello());
    assert_eq!(status, 200, "{xml}");
    assert!(xml.contains("<word ") && xml.to_lowercase().contains("hello"), "{xml}");
    let (status, problem) = gateway.post_form("/process", "text", b"no pdf");
    assert_eq!(status, 400);
    assert!(problem.contains("\"code\":\"invalid_pdf\""), "{problem}");
    assert_eq!(gateway.get("/health").0, 200);
    let (code, rest) = gateway.stop("-TERM");
    assert_eq!((code, rest.as_str()), (Some(0), ""));
}

#[test]
fn it_takes_files_up_to_the_limit_that_is_set() {
    let hello = redrive_gateway::sample::hello();
    let larger = [&hello[..], &[b' '; 10]].concat();
    let most = hello.len().to_string();
    let gateway = Server::gateway(&["--max-upload-bytes", &most]);
    assert_eq!(gateway.post_form("/process", "text", &hello).0, 200);
    let (status, problem) = gateway.post_form("/process", "text", &larger);
    assert_eq!(status, 413, "{problem}");
    let output = run(&["gateway", "--max-upload-bytes", "many"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("MAX_UPLOAD_BYTES") || said.contains("--max-upload-bytes"), "{said}");
}
