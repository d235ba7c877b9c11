//! What would be dialled, without dialling it: no test may reach a forbidden address, nor a public one.

use redrive_lab::names::{NameServer, Said};

use super::*;
use crate::dns::Resolver;
use crate::guard::GuardOptions;

const PUBLIC: &str = "93.184.216.34";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

async fn dialler(names: &NameServer, options: GuardOptions) -> Inner {
    let names = Arc::new(Resolver::asking(&[names.address()]).unwrap());
    let tls = super::super::wire::tls(Vec::new()).unwrap();
    Inner { guard: Guard::new(options), names, tls, patience: Duration::from_secs(5), via: None }
}

/// Covers R4 of the security rules.
#[tokio::test]
async fn one_forbidden_address_refuses_all() {
    let names = NameServer::start().await.unwrap();
    let dial = dialler(&names, GuardOptions::default()).await;
    let said = |addresses: &[&str]| Said::Addresses(addresses.iter().map(|text| ip(text)).collect(), 0);
    names.say("good.test", [said(&[PUBLIC, "2606:4700::1111"])]);
    names.say("private.test", [said(&["10.0.0.1"])]);
    names.say("mixed.test", [said(&[PUBLIC, "127.0.0.1"])]);
    names.say("six.test", [said(&[PUBLIC, "fd00::1"])]);
    names.say("mapped.test", [said(&["::ffff:127.0.0.1"])]);
    names.say("alias.test", [Said::Alias("inside.test".into(), vec![ip("192.168.1.1")])]);
    names.say("cloud.test", [said(&["169.254.169.254"])]);
    let mut good = dial.judged("good.test").await.unwrap();
    good.sort();
    assert_eq!(good, [ip(PUBLIC), ip("2606:4700::1111")]);
    for name in [
        "private.test",
        "mixed.test",
        "six.test",
        "mapped.test",
        "alias.test",
        "cloud.test",
        "127.0.0.1",
        "::1",
    ] {
        let judged = dial.judged(name).await;
        assert!(matches!(judged, Err(DialError::Refused(Refused::Address))), "{name}: {judged:?}");
    }
    let anybody = dialler(&names, GuardOptions { allow_private: true, ports: Vec::new() }).await;
    assert_eq!(anybody.judged("private.test").await.unwrap(), [ip("10.0.0.1")]);
}

/// Covers R4: half an answer makes nobody less careful with the half that came.
#[tokio::test]
async fn a_forbidden_address_is_refused_also_where_the_other_kind_has_a_fault() {
    let names = NameServer::start().await.unwrap();
    let dial = dialler(&names, GuardOptions::default()).await;
    let said = |addresses: &[&str]| Said::Addresses(addresses.iter().map(|text| ip(text)).collect(), 0);
    names.say_each("well.test", said(&[PUBLIC]), Said::Fault);
    names.say_each("inside.test", said(&["10.0.0.1"]), Said::Fault);
    names.say_each("mixed.test", said(&[PUBLIC, "127.0.0.1"]), Said::Fault);
    names.say_each("six.test", Said::Fault, said(&["fd00::1"]));
    assert_eq!(dial.judged("well.test").await.unwrap(), [ip(PUBLIC)]);
    for name in ["inside.test", "mixed.test", "six.test"] {
        let judged = dial.judged(name).await;
        assert!(matches!(judged, Err(DialError::Refused(Refused::Address))), "{name}: {judged:?}");
    }
}

/// Covers R4: a name that leads elsewhere the second time is judged the second time, and what was judged is what is dialled.
#[tokio::test]
async fn a_name_that_changes_its_mind_is_judged_each_time() {
    let names = NameServer::start().await.unwrap();
    let dial = dialler(&names, GuardOptions::default()).await;
    let said = |address: &str| Said::Addresses(vec![ip(address)], 0);
    names.say("rebinding.test", [said(PUBLIC), said("127.0.0.1"), said(PUBLIC)]);
    assert_eq!(dial.judged("rebinding.test").await.unwrap(), [ip(PUBLIC)]);
    let second = dial.judged("rebinding.test").await;
    assert!(matches!(second, Err(DialError::Refused(Refused::Address))), "{second:?}");
    assert_eq!(names.asked("rebinding.test"), 2, "an answer of no duration is not kept");
}

/// Covers R4: whoever cannot be looked up is not dialled.
#[tokio::test]
async fn what_cannot_be_looked_up_is_refused_and_told_apart() {
    let names = NameServer::start().await.unwrap();
    let dial = dialler(&names, GuardOptions::default()).await;
    names.say("ill.test", [Said::Fault]);
    names.say("empty.test", [Said::Empty]);
    for name in ["gone.test", "empty.test"] {
        let judged = dial.judged(name).await;
        assert!(matches!(judged, Err(DialError::Name(LookupError::NoSuchName))), "{name}: {judged:?}");
    }
    let judged = dial.judged("ill.test").await;
    assert!(matches!(judged, Err(DialError::Name(LookupError::Failed(_)))), "{judged:?}");
}

#[tokio::test]
async fn of_many_addresses_the_one_that_answers_is_taken() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    // Nobody is on the others: each is refused at once.
    let stream =
        reach(vec![ip("127.0.0.2"), ip("::1"), ip("127.0.0.3"), here.ip()], here.port()).await.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), here);
    assert!(reach(vec![ip("127.0.0.2")], here.port()).await.is_err());
    assert!(reach(Vec::new(), here.port()).await.is_err());
}
