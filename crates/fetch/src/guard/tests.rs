use super::*;

fn refused(text: &str) -> Refused {
    match Guard::default().parse(text) {
        Err(refused) => refused,
        Ok(url) => panic!("{text} was let through as {}", url.url()),
    }
}

/// Covers R1 of the security rules.
#[test]
fn only_http_without_userinfo_on_allowed_ports_passes() {
    for (text, why) in [
        ("file:///etc/passwd", Refused::Scheme),
        ("gopher://example.com/", Refused::Scheme),
        ("ftp://example.com/", Refused::Scheme),
        ("data:text/plain,hello", Refused::Scheme),
        ("javascript:alert(1)", Refused::Scheme),
        ("http://a@example.com/", Refused::Userinfo),
        ("http://a:b@example.com/", Refused::Userinfo),
        ("http://:b@example.com/", Refused::Userinfo),
        ("http://example.com:22/", Refused::Port(22)),
        ("http://example.com:6379/", Refused::Port(6379)),
        ("https://example.com:8443/", Refused::Port(8443)),
        ("http://example.com:0/", Refused::Port(0)),
    ] {
        assert_eq!(refused(text), why, "{text}");
    }
    for text in [
        "http://example.com",
        "https://example.com:443/a?b=c",
        "http://example.com:443/",
        "HTTP://EXAMPLE.com/",
    ] {
        assert!(Guard::default().parse(text).is_ok(), "{text}");
    }
    let guard = Guard::new(GuardOptions { ports: vec![8080], ..GuardOptions::default() });
    assert!(guard.parse("http://example.com:8080/").is_ok());
    assert_eq!(guard.parse("http://example.com/").err(), Some(Refused::Port(80)));
}

#[test]
fn a_host_of_an_odd_name_passes_but_not_with_https_where_no_certificate_can_be_for_it() {
    for name in ["a_b.example", "my_service", "_a.example", "xn--mnchen-3ya.example", "a--b.example."] {
        for scheme in ["http", "https"] {
            assert!(Guard::default().parse(&format!("{scheme}://{name}/")).is_ok(), "{scheme} {name}");
        }
    }
    for name in ["a-.example", "-a.example", "a!b.example"] {
        assert!(Guard::default().parse(&format!("http://{name}/")).is_ok(), "{name}");
        assert_eq!(refused(&format!("https://{name}/")), Refused::Uncertified, "{name}");
    }
}

/// Covers R2: whatever looks like two hosts is read as the parser reads it, and what was read is what is used.
#[test]
fn what_looks_like_two_hosts_has_one() {
    for (text, host) in [
        ("http://example.com#@127.0.0.1/", "example.com"),
        ("http://example.com?@127.0.0.1/", "example.com"),
        ("http://example.com\\@127.0.0.1/", "example.com"),
        ("http:\\\\example.com\\x", "example.com"),
        ("http:example.com", "example.com"),
        ("http://ex\tam\nple.com/", "example.com"),
        ("http://ＥＸＡＭＰＬＥ。com/", "example.com"),
    ] {
        let checked = Guard::default().parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(checked.url().host_str(), Some(host), "{text:?}");
        assert_eq!(checked.url().fragment(), None, "{text:?}");
    }
    for (text, why) in [
        ("http://1.1.1.1 &@127.0.0.1/", Refused::Userinfo),
        ("http://127.0.0.1\\@example.com/", Refused::Address),
        ("http://127.0.0.1#@example.com/", Refused::Address),
        ("http://127。0。0。1/", Refused::Address),
        ("http://１２７.０.０.１/", Refused::Address),
        ("http://①②⑦.⓪.⓪.①/", Refused::Address),
    ] {
        assert_eq!(refused(text), why, "{text}");
    }
    for text in [
        "",
        "example.com",
        "//example.com",
        "http://",
        "http:///",
        "http://a b/",
        "http://[::1/",
        "http://%00/",
    ] {
        assert_eq!(refused(text).code(), redrive_engine::Code::DownloadInvalidUrl, "{text:?}");
    }
}

/// Covers R3: a literal address in every spelling.
#[test]
fn a_literal_address_is_judged_however_it_is_spelt() {
    for host in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "0.0.0.0",
        "0",
        "[::]",
        "10.0.0.1",
        "169.254.169.254",
        "0xa9fea9fe",
        "[fd00:ec2::254]",
        "168.63.129.16",
        "[fe80::1]",
    ] {
        assert_eq!(refused(&format!("http://{host}/")), Refused::Address, "{host}");
    }
    for host in ["8.8.8.8", "[2606:4700::1111]", "0x08080808"] {
        assert!(Guard::default().parse(&format!("http://{host}/")).is_ok(), "{host}");
    }
    let guard = Guard::new(GuardOptions { allow_private: true, ports: Vec::new() });
    for url in ["http://127.0.0.1:22/", "http://[::1]:8080/", "http://localhost:1/"] {
        assert!(guard.parse(url).is_ok(), "{url}");
    }
    assert_eq!(guard.parse("file:///x").err(), Some(Refused::Scheme), "private is not everything");
}

#[test]
fn names_of_the_machines_own_services_are_refused() {
    for name in [
        "localhost",
        "LOCALHOST",
        "a.localhost",
        "localhost.",
        "metadata.google.internal",
        "Metadata.Google.Internal.",
        "metadata",
    ] {
        assert_eq!(refused(&format!("http://{name}/")), Refused::Address, "{name}");
    }
    assert!(Guard::default().parse("http://metadata.example.com/").is_ok());
    assert!(Guard::default().parse("http://notlocalhost/").is_ok());
}

/// Covers R6: each hop is judged like the first URL, and https is never left.
#[test]
fn a_redirect_is_judged_like_any_url() {
    let guard = Guard::default();
    let from = guard.parse("https://example.com/a/b?c").unwrap();
    for (location, to) in [
        ("d", "https://example.com/a/d"),
        ("/d", "https://example.com/d"),
        ("//other.example/d", "https://other.example/d"),
        ("?x", "https://example.com/a/b?x"),
        ("https://other.example/#f", "https://other.example/"),
    ] {
        assert_eq!(guard.follow(&from, location).unwrap().url().as_str(), to, "{location}");
    }
    for (location, why) in [
        ("http://example.com/", Refused::Downgrade),
        ("http://169.254.169.254/latest", Refused::Address),
        ("https://169.254.169.254/latest", Refused::Address),
        ("//127.1/", Refused::Address),
        ("file:///etc/passwd", Refused::Scheme),
        ("https://a:b@example.com/", Refused::Userinfo),
        ("https://example.com:22/", Refused::Port(22)),
    ] {
        assert_eq!(guard.follow(&from, location).err(), Some(why), "{location}");
    }
    assert_eq!(guard.follow(&from, &"x".repeat(MAX_URL_BYTES + 1)).err(), Some(Refused::TooLong));
}

#[test]
fn credentials_stay_with_their_host() {
    let parse =
        |text| Guard::new(GuardOptions { allow_private: true, ports: Vec::new() }).parse(text).unwrap();
    for (from, to, trusted) in [
        ("https://a.example/x", "https://a.example/y", true),
        ("http://a.example/x", "https://a.example/x", true),
        ("http://a.example:8080/x", "https://a.example/x", false),
        ("https://a.example/x", "https://a.example:444/x", false),
        ("https://a.example/x", "https://b.example/x", false),
        ("https://a.example/x", "https://a.example.evil/x", false),
        ("https://a.example/x", "https://sub.a.example/x", false),
    ] {
        assert_eq!(parse(from).trusts(&parse(to)), trusted, "{from} → {to}");
    }
}

#[test]
fn a_target_is_the_host_and_its_port() {
    for (url, target) in [
        ("http://Example.com./a", "host:example.com:80"),
        ("https://example.com", "host:example.com:443"),
        ("http://[2606:4700::1111]/", "host:[2606:4700::1111]:80"),
        ("https://bücher.example/", "host:xn--bcher-kva.example:443"),
    ] {
        assert_eq!(Guard::default().parse(url).unwrap().target().unwrap().as_str(), target);
    }
}

#[test]
fn what_is_printed_has_no_secrets() {
    let checked = Guard::default().parse("https://example.com/a?X-Amz-Signature=CANARY&b=CANARY").unwrap();
    for text in [checked.redacted(), format!("{checked:?}")] {
        assert!(!text.contains("CANARY") && text.contains("example.com/a"), "{text}");
    }
}

#[test]
fn a_refusal_names_what_can_be_changed() {
    let told = |url: &str| Guard::default().parse(url).unwrap_err().to_string();
    assert_eq!(told("www.example.com/a.pdf"), "it does not begin with http:// or https://");
    assert_eq!(told("https://example.com:8443/"), "port 8443 is not in FETCH_PORTS");
    assert!(told("http://10.0.0.1/").ends_with("FETCH_ALLOW_PRIVATE is not set"));
    assert!(told("https://[::1/").starts_with("it cannot be read as a URL: "));
}
