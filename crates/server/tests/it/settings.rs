//! What the server runs with and what its doctor says, over HTTP and as a page.

use std::sync::Arc;

use redrive_api::{Finding, ProxyPool, Setting, SettingList};
use redrive_server::SettingsParts;
use tokio::sync::Semaphore;

use crate::pages::reader::{press, text, visit};
use crate::world::{World, eventually};

fn setting(name: &str, section: &str, value: Option<&str>, origin: &str) -> Setting {
    Setting {
        name: name.to_owned(),
        section: section.to_owned(),
        value: value.map(str::to_owned),
        unset: value.is_none().then(|| "none".to_owned()),
        origin: origin.to_owned(),
        at: (origin == "file").then(|| "redrive.toml line 3".to_owned()),
        default: None,
        secret: false,
        used: true,
        about: format!("about `{name}`"),
    }
}

/// Settings of every origin, and a doctor who finds nothing.
pub(crate) fn healthy() -> SettingsParts {
    finds(|| vec![Finding::good("store", "answers")])
}

fn finds(found: impl Fn() -> Vec<Finding> + Send + Sync + 'static) -> SettingsParts {
    let settings = vec![
        setting("DATA_DIR", "Where things are", Some("redrive-data"), "default"),
        setting("LISTEN", "Server", Some("127.0.0.1:0"), "flag"),
        setting("PUBLIC_URL", "Server", Some("<b>https://x</b>"), "env"),
        setting("GATEWAY_URL", "Gateway", Some("http://***@g/"), "file"),
        setting("SMTP_URL", "Digest", None, "default"),
        setting("INTAKE_MAX_RETRIES", "Digest", Some("3"), "flag"),
    ];
    let pool = ProxyPool { name: "eu".to_owned(), proxies: 2, fallbacks: vec!["us".to_owned()] };
    let list = SettingList { settings, proxy_pools: vec![pool], warnings: vec!["odd".to_owned()] };
    let found = Arc::new(found);
    SettingsParts {
        list,
        examine: Some(Arc::new(move || {
            let found = found.clone();
            Box::pin(async move { found() })
        })),
    }
}

#[tokio::test]
async fn settings_are_shown_with_where_they_came_from() {
    let world = World::start().await;
    let mut operator = world.operator();
    let list = operator.get("/api/settings").await.json();
    assert_eq!(list["settings"].as_array().unwrap().len(), 6);
    assert_eq!(list["settings"][1]["origin"], "flag");
    assert_eq!((&list["proxy_pools"][0]["proxies"], &list["warnings"][0]), (&2.into(), &"odd".into()));
    let page = visit(&mut operator, "/settings").await;
    assert_eq!(page.text("nav[aria-label=Operators] a[aria-current=page]"), "Settings");
    let sections: Vec<String> = page.all("#settings h3").into_iter().map(text).collect();
    assert_eq!(sections, ["Where things are", "Server", "Gateway", "Digest", "Proxies"]);
    let rows: Vec<String> = page.all("#settings tbody tr").into_iter().map(text).collect();
    for (row, says) in rows.iter().zip([
        "redrive-data default",
        "127.0.0.1:0 flag",
        "<b>https://x</b> environment",
        "http://***@g/ file redrive.toml line 3",
        "unset: none",
        "3 flag",
        "eu",
    ]) {
        assert!(row.contains(says), "{says:?}: {rows:?}");
    }
    assert_eq!(
        text(page.all("#settings tbody th .fine")[0]),
        "about DATA_DIR",
        "marks are no part of the words"
    );
    assert!(page.text("#doctor").contains("It has not looked since this server was started."));
}

/// What the store keeps wins over whatever the server was started with, and says so.
#[tokio::test]
async fn a_setting_that_was_changed_at_run_time_is_shown_as_it_is_now() {
    let world = World::start().await;
    let mut operator = world.operator();
    let store = world.engine.store();
    let key = redrive_store::intake::MAX_RETRIES;
    for (kept, shown, from) in [(None, "3", "flag"), (Some("5"), "5", "store"), (Some("many"), "3", "flag")] {
        store.set_setting(key, kept, "ann").await.unwrap();
        let list = operator.get("/api/settings").await.json();
        let one = &list["settings"][5];
        assert_eq!((&one["value"], &one["origin"]), (&shown.into(), &from.into()), "{kept:?}: {one}");
        let page = visit(&mut operator, "/settings").await;
        assert!(page.text("#settings").contains(&format!("{shown} {from}")), "{}", page.text("#settings"));
    }
}

#[tokio::test]
async fn what_the_doctor_found_is_shown_with_a_fix_what_is_wrong_first() {
    let world = World::with(|setup| {
        setup.settings = finds(|| {
            vec![
                Finding::good("store", "answers"),
                Finding::note("folder", "has mode 755", "chmod 700 x"),
                Finding::bad("disk", "<i>full</i>", "Free some space."),
            ]
        });
    })
    .await;
    let mut operator = world.operator();
    let none = operator.get("/api/doctor").await.json();
    assert_eq!((&none["well"], &none["finished_at"]), (&().into(), &().into()), "{none}");
    let pressed = press(&mut operator, "/settings", "").await;
    assert_eq!((pressed.status, pressed.header("location")), (303, Some("/settings#doctor")));
    let page = visit(&mut operator, "/settings").await;
    assert!(page.text("#doctor > p").contains("1 thing is wrong."), "{}", page.text("#doctor"));
    assert!(page.all("#doctor time").len() == 1, "when it was made");
    let rows: Vec<String> = page.all("#doctor tbody tr").into_iter().map(text).collect();
    for (row, words) in rows.iter().zip([
        ["disk", "Wrong", "<i>full</i>", "→ Free some space."],
        ["folder", "Worth a look", "has mode 755", "→ chmod 700 x"],
        ["store", "Well", "answers", ""],
    ]) {
        assert!(words.iter().all(|word| row.contains(word)), "{words:?}: {rows:?}");
    }
    let api = operator.get("/api/doctor").await.json();
    assert_eq!((&api["well"], &api["findings"][2]["level"]), (&false.into(), &"bad".into()), "{api}");
    assert!(api["finished_at"].is_string() && api["running_since"].is_null(), "{api}");
}

#[tokio::test]
async fn one_examination_is_made_at_a_time() {
    let gate = Arc::new(Semaphore::new(0));
    let waits = gate.clone();
    let world = World::with(|setup| {
        setup.settings.examine = Some(Arc::new(move || {
            let waits = waits.clone();
            Box::pin(async move {
                waits.acquire().await.unwrap().forget();
                vec![Finding::good("all", "well")]
            })
        }));
    })
    .await;
    let mut operator = world.operator();
    let first = operator.ask("POST", "/api/doctor", &[]).await;
    assert_eq!(first.status, 202);
    let again = operator.ask("POST", "/api/doctor", &[]).await;
    assert_eq!(again.json()["running_since"], first.json()["running_since"], "it is the same one");
    let page = visit(&mut operator, "/settings").await;
    assert!(page.text("#doctor .remark").contains("It has been looking since"));
    assert!(page.all("#doctor form").is_empty(), "no second one can be asked for");
    gate.add_permits(1);
    eventually(async || {
        let api = operator.get("/api/doctor").await.json();
        (api["well"] == true && api["running_since"].is_null()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_server_without_a_doctor_says_so() {
    let world = World::with(|setup| setup.settings.examine = None).await;
    let mut operator = world.operator();
    assert_eq!(operator.get("/api/doctor").await.code(), "NOT_FOUND");
    assert_eq!(operator.ask("POST", "/api/doctor", &[]).await.code(), "NOT_FOUND");
    assert!(visit(&mut operator, "/settings").await.all("#doctor").is_empty());
}
