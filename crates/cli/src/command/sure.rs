//! Whoever changes many jobs is asked first: at a terminal by a question, elsewhere by `--yes` or not at all.

use std::io::{BufRead, IsTerminal, stdin};

use crate::exit::{Exit, Stop};

/// Goes on when it was said before that it is meant, or when the person at the terminal says so now.
pub(super) async fn sure(yes: bool, question: &str) -> Result<(), Stop> {
    if yes {
        return Ok(());
    }
    if !stdin().is_terminal() {
        let text = "nothing was done, as nobody is at a terminal to be asked: say --yes to do it, --dry-run to only count";
        return Err(Stop::new(Exit::Usage, text));
    }
    ask(question);
    // A thread of its own: whoever interrupts does not wait for an answer.
    let (tell, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut answer = String::new();
        let _ = stdin().lock().read_line(&mut answer);
        let _ = tell.send(is_yes(&answer));
    });
    match told.await {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(Stop::new(Exit::Failed, "nothing was done, as you wished")),
    }
}

#[expect(clippy::print_stderr, reason = "a question is a message")]
fn ask(question: &str) {
    eprint!("{question} [y/N] ");
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_clear_yes_is_one() {
        for yes in ["y\n", "Y", " yes \n", "YES"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n", "yep", "yes please", "j"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
