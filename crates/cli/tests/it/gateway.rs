//! `redrive gateway`.

use crate::process::Server;

#[test]
fn it_converts_refuses_and_ends_when_told() {
    let gateway = Server::gateway();
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
