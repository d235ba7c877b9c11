//! Against a name server on loopback that says what it is told.

use redrive_lab::names::{NameServer, Said};

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// As a machine has it whose own domain and search list are `corp.lan`.
fn in_corp(names: &NameServer, hosts: &str) -> Resolver {
    let corp = || Name::from_utf8("corp.lan.").unwrap();
    let servers = config_of(&[names.address()]).name_servers().to_vec();
    let config = ResolverConfig::from_parts(Some(corp()), vec![corp()], servers);
    let mut quick = ResolverOpts::default();
    (quick.timeout, quick.attempts) = (Duration::from_millis(100), 1);
    Resolver::build(config, quick, Hosts::read(hosts.as_bytes())).unwrap()
}

#[tokio::test]
async fn a_name_means_itself_whatever_the_search_list_has() {
    let names = NameServer::start().await.unwrap();
    let resolver = in_corp(&names, "");
    names.say("ill.example", [Said::Fault]);
    names.say("silent.example", [Said::Silence]);
    for name in ["ill.example", "silent.example", "gone.example", "short"] {
        names.say(&format!("{name}.corp.lan"), [Said::Addresses(vec![ip("10.9.9.9")], 60)]);
    }
    for name in ["ill.example", "silent.example"] {
        let found = resolver.lookup(name).await;
        assert!(matches!(found, Err(LookupError::Failed(_))), "{name}: {found:?}");
    }
    for name in ["gone.example", "gone.example.", "short"] {
        assert_eq!(resolver.lookup(name).await, Err(LookupError::NoSuchName), "{name}");
    }
    for name in ["ill.example", "silent.example", "gone.example", "short"] {
        assert_eq!(names.asked(&format!("{name}.corp.lan")), 0, "{name}");
    }
}

#[tokio::test]
async fn nothing_of_one_kind_and_a_fault_of_the_other_is_a_fault() {
    let names = NameServer::start().await.unwrap();
    let resolver = in_corp(&names, "");
    for (name, four, six) in
        [("six.example", Said::Empty, Said::Fault), ("four.example", Said::Fault, Said::Empty)]
    {
        names.say_each(name, four, six);
        let found = resolver.lookup(name).await;
        assert!(matches!(found, Err(LookupError::Failed(_))), "{name}: {found:?}");
    }
}

/// Many zones answer one kind and are ill with the other.
#[tokio::test]
async fn a_fault_of_one_kind_leaves_the_addresses_of_the_other() {
    let names = NameServer::start().await.unwrap();
    let resolver = in_corp(&names, "");
    let here = || Said::Addresses(vec![ip("192.0.2.1"), ip("2001:db8::1")], 0);
    for (name, four, six, found) in [
        ("four.example", here(), Said::Fault, vec!["192.0.2.1"]),
        ("late.example", here(), Said::Silence, vec!["192.0.2.1"]),
        ("six.example", Said::Fault, here(), vec!["2001:db8::1"]),
        ("both.example", here(), here(), vec!["192.0.2.1", "2001:db8::1"]),
    ] {
        names.say_each(name, four, six);
        let found: Vec<IpAddr> = found.into_iter().map(ip).collect();
        assert_eq!(resolver.lookup(name).await, Ok(found), "{name}");
    }
}

#[tokio::test]
async fn what_the_hosts_file_lists_is_asked_of_nobody() {
    let names = NameServer::start().await.unwrap();
    let hosts = "# ours\n192.0.2.7 printer office.example my_service # all one\n2001:db8::7\toffice.example\nnothing x\n";
    let resolver = in_corp(&names, hosts);
    names.say("printer", [Said::Silence]);
    for name in ["printer", "my_service", "my_service."] {
        assert_eq!(resolver.lookup(name).await, Ok(vec![ip("192.0.2.7")]), "{name}");
    }
    assert_eq!(resolver.lookup("Office.Example").await, Ok(vec![ip("192.0.2.7"), ip("2001:db8::7")]));
    assert_eq!((names.asked("printer"), names.asked("office.example")), (0, 0));
}

#[tokio::test]
async fn what_cannot_be_a_name_is_none() {
    let names = NameServer::start().await.unwrap();
    let resolver = in_corp(&names, "");
    let long = "x".repeat(64);
    assert_eq!(resolver.lookup(&format!("{long}.example")).await, Err(LookupError::NoSuchName));
    assert_eq!(resolver.lookup("a..example").await, Err(LookupError::NoSuchName));
}

/// The URL parser takes them, and so do name servers.
#[tokio::test]
async fn names_with_other_signs_than_letters_digits_and_hyphens_are_asked_for_as_they_are() {
    let names = NameServer::start().await.unwrap();
    let resolver = in_corp(&names, "");
    for name in
        ["a_b.example", "_a.example", "a_.example", "-a.example", "a-.example", "a!b~c.example", "my_service"]
    {
        let host = url::Url::parse(&format!("http://{name}/")).unwrap();
        assert_eq!(host.host_str(), Some(name));
        names.say(name, [Said::Addresses(vec![ip("192.0.2.1")], 60)]);
        assert_eq!(resolver.lookup(name).await, Ok(vec![ip("192.0.2.1")]), "{name}");
    }
}

/// What is not there is tried once more after its wait: that has to ask somebody.
#[tokio::test]
async fn that_there_is_no_such_name_is_kept_for_many_and_forgotten_before_the_retry() {
    let names = NameServer::start().await.unwrap();
    let resolver = in_corp(&names, "");
    names.say("empty.example", [Said::Empty]);
    for name in ["gone.example", "empty.example"] {
        for _ in 0..5 {
            assert_eq!(resolver.lookup(name).await, Err(LookupError::NoSuchName), "{name}");
        }
        assert_eq!(names.asked(name), 1, "{name}");
    }
    let first_wait = redrive_engine::Policy::reliability().backoff.delay(0, 0);
    assert!(LONGEST_NOTHING < first_wait, "{first_wait:?}");
}
