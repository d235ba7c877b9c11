//! Secrets are found nowhere. Every setting that is a secret has a canary, every place where people may put one has another; a server goes through
//! good and bad ways with neighbours that repeat everything they were told, and then all that it wrote, said and answered is searched.

mod parrot;
mod search;
mod settings;
mod story;

use crate::postgres::Database;
use search::Searched;
use story::Story;

#[test]
fn no_secret_is_found_in_what_a_server_on_sqlite_leaves_behind() {
    let story = Story::tell(None);
    let mut searched = Searched::default();
    story.search(&mut searched);
    searched.sqlite(&story.data().join("redrive.db"));
    searched.is_clean();
}

#[test]
fn no_secret_is_found_in_what_a_server_on_postgres_leaves_behind() {
    let Some(database) = Database::new() else { return };
    let story = Story::tell(Some(&database.url));
    let mut searched = Searched::default();
    story.search(&mut searched);
    searched.postgres(&database.url);
    searched.is_clean();
}

/// What cannot work at all is said without the secret that came with it.
#[test]
fn a_server_that_cannot_start_says_why_without_secrets() {
    let mut searched = Searched::default();
    for (name, wrong) in settings::wrong() {
        let home = tempfile::tempdir().unwrap();
        for command in [
            &["serve", "--listen", "127.0.0.1:0"][..],
            &["worker"],
            &["doctor"],
            &["migrate"],
            &["config", "check"],
        ] {
            let mut command_line = crate::process::redrive(command);
            command_line
                .current_dir(home.path())
                .env("METRICS_LISTEN", "127.0.0.1:0")
                .envs(wrong.iter().cloned());
            let said = story::until_it_ends(command_line);
            searched.text(&format!("{name}: {command:?}"), &said);
        }
    }
    searched.is_clean();
}
