//! What owners of PDFs are told, when, and by which mail server.

use std::fmt;

use jiff::tz::TimeZone;
use redrive_blob::Location;
use redrive_intake::digest::mail::MailSettings;
use redrive_model::schedule::Schedule;

use super::Values;
use crate::exit::{Exit, Stop};

/// Everything that `serve` and `worker` need to know to send digests.
#[derive(Debug, Clone)]
pub(crate) struct Digesting {
    pub(crate) schedule: Schedule,
    pub(crate) zone: TimeZone,
    /// Where mail goes; digests are files without it.
    pub(crate) mail: Option<MailSettings>,
    /// Where those files go: `INTAKE_URL`.
    pub(crate) place: Location,
}

impl Digesting {
    /// Reads them all; nothing while `INTAKE_URL` is unset. What cannot be used is refused all the same.
    pub(crate) fn read(values: &Values) -> Result<Option<Self>, Stop> {
        let schedule = values.daily("DIGEST_AT", "DIGEST_TZ")?;
        let zone = values.zone("DIGEST_TZ")?;
        let mail = match (values.secret("SMTP_URL"), values.text("MAIL_FROM")) {
            (Some(url), Some(from)) => {
                let mail = MailSettings::parse(url.reveal(), &from);
                Some(mail.map_err(|error| Stop::new(Exit::Usage, error.to_string()))?)
            }
            (Some(_), None) => {
                let text = "SMTP_URL is set and MAIL_FROM is not: a mail needs a sender, such as redrive@example.org";
                return Err(Stop::new(Exit::Usage, text));
            }
            (None, Some(_)) | (None, None) => None,
        };
        let Some(_) = values.text("INTAKE_URL") else { return Ok(None) };
        Ok(Some(Self { schedule, zone, mail, place: values.location("INTAKE_URL")? }))
    }
}

impl fmt::Display for Digesting {
    /// What people are told at start: never a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, ", self.schedule)?;
        match &self.mail {
            Some(mail) => write!(f, "by mail through {}:{}", mail.host, mail.port),
            None => write!(f, "to files in {}/reports/digest", self.place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Environment;
    use super::*;

    fn with(given: &[(&'static str, &str)]) -> Result<Option<Digesting>, Stop> {
        let given: Vec<_> = given.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        Digesting::read(&Values::gather(&given, Environment::default(), None))
    }

    #[test]
    fn digests_follow_intake_and_are_files_without_a_mail_server() {
        assert!(with(&[]).unwrap().is_none());
        let files = with(&[("INTAKE_URL", "/srv/in")]).unwrap().unwrap();
        assert_eq!(files.to_string(), "daily 23:55:00 in UTC, to files in /srv/in/reports/digest");
        let mail = with(&[
            ("INTAKE_URL", "/srv/in"),
            ("SMTP_URL", "smtps://u:CANARY@mail.example"),
            ("MAIL_FROM", "redrive@example.org"),
            ("DIGEST_AT", "07:30"),
            ("DIGEST_TZ", "Europe/Berlin"),
        ]);
        let mail = mail.unwrap().unwrap();
        assert_eq!(mail.to_string(), "daily 07:30:00 in Europe/Berlin, by mail through mail.example:465");
        assert!(!format!("{mail:?}").contains("CANARY"));
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_its_name_and_without_the_password() {
        for (given, says) in [
            (&[("DIGEST_AT", "25:00")][..], "DIGEST_AT is \"25:00\""),
            (&[("DIGEST_AT", "08:00,20:00")], "DIGEST_AT is \"08:00,20:00\""),
            (&[("DIGEST_TZ", "Berlin")], "DIGEST_TZ is \"Berlin\""),
            (&[("SMTP_URL", "smtps://u:CANARY@mail.example")], "MAIL_FROM is not"),
            (&[("SMTP_URL", "ftp://u:CANARY@h"), ("MAIL_FROM", "a@b")], "SMTP_URL: its scheme"),
            (
                &[("SMTP_URL", "smtp://h"), ("MAIL_FROM", "nobody")],
                "MAIL_FROM: \"nobody\" is no mail address",
            ),
        ] {
            let stop = with(given).unwrap_err();
            assert!(
                stop.message().contains(says) && !stop.message().contains("CANARY"),
                "{}",
                stop.message()
            );
            assert_eq!(stop.exit(), Exit::Usage);
        }
    }
}
