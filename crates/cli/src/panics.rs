//! A panic is a bug of ours, and its words may hold anything: they go into the log as one event like any other, without secrets.

use std::any::Any;
use std::panic;

use redrive_model::{redact, text};

/// The most that is told of a panic.
const LONGEST: usize = 500;

/// Begins to tell panics like that, in place of several lines on stderr.
pub(crate) fn tell_on_one_line() {
    panic::set_hook(Box::new(|info| {
        let at = info.location().map(ToString::to_string).unwrap_or_default();
        let words = words(info.payload());
        if tracing::dispatcher::has_been_set() {
            tracing::error!(event = "program.panicked", at, "{words}");
        } else {
            crate::say::note(&format!("a bug of ours at {at}: {words}"));
        }
    }));
}

fn words(payload: &(dyn Any + Send)) -> String {
    let said = payload.downcast_ref::<&str>().copied();
    let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    // Whole before it is cut: a secret that is cut in two is no longer known as one.
    text::one_line(&redact::redact(said.unwrap_or("no words")), LONGEST, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_one_line_without_secrets() {
        let said: Box<dyn Any + Send> =
            Box::new("open postgres://me:canary@db/x\n{\"event\":\"fake\"}".to_owned());
        let words = words(&*said);
        assert!(
            words.contains("postgres://db/x") && !words.contains("canary") && !words.contains('\n'),
            "{words}"
        );
        let long: Box<dyn Any + Send> = Box::new(format!("{} token=canary", "x".repeat(490)));
        assert!(!super::words(&*long).contains("canary"));
        let plain: Box<dyn Any + Send> = Box::new("index out of bounds");
        assert_eq!(super::words(&*plain), "index out of bounds");
        let odd: Box<dyn Any + Send> = Box::new(7);
        assert_eq!(super::words(&*odd), "no words");
    }
}
