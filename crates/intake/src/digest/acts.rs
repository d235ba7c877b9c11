//! What people do about digests. Each act is a line of the audit trail.

use redrive_engine::store::ActEnd;
use redrive_engine::store::intake::Notification;
use redrive_engine::{By, EngineError, JobId};
use redrive_notify::mail;

use super::{Digests, Occasion};

/// Why an address cannot be noted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is no mail address.
    #[error("{0:?} is no mail address; jane@example.org is one")]
    Address(String),
    /// An owner's name that cannot be kept.
    #[error("an owner's name has 1 to 255 bytes and no control characters")]
    Owner,
    /// It could not be kept.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Digests {
    /// Asks for a digest now, beside those of the schedule. Answers the job that opens it.
    pub async fn open(&self, by: &By) -> redrive_engine::Result<JobId> {
        let occasion = Occasion::default();
        let act = self.engine.enqueue(&occasion);
        self.engine.acted(by, "digest.send", "digest", act, |id| format!("job {id}")).await
    }

    /// Adds an address, or switches it. Answers it as it is kept.
    pub async fn set_notification(
        &self,
        notification: Notification,
        by: &By,
    ) -> Result<Notification, AddressError> {
        let notification = Self::checked(notification)?;
        let known = self.intake.notifications().await.map_err(EngineError::from)?;
        self.set_among(&known, &notification, by).await?;
        Ok(notification)
    }

    /// Removes an address. Answers whether it was there.
    pub async fn remove_notification(
        &self,
        owner: &str,
        address: &str,
        by: &By,
    ) -> redrive_engine::Result<bool> {
        let which = Notification { owner: owner.to_owned(), address: address.to_owned(), enabled: false };
        self.remove_among(&self.intake.notifications().await?, &which, by).await
    }

    /// Sets all addresses, each of which was [checked](Self::checked): those that are not wanted are removed.
    pub async fn set_notifications(&self, wanted: &[Notification], by: &By) -> redrive_engine::Result<()> {
        let known = self.intake.notifications().await?;
        for one in wanted {
            self.set_among(&known, one, by).await?;
        }
        for one in self.intake.notifications().await? {
            if !wanted.iter().any(|wanted| is(wanted, &one)) {
                self.remove_among(&known, &one, by).await?;
            }
        }
        Ok(())
    }

    async fn set_among(
        &self,
        known: &[Notification],
        one: &Notification,
        by: &By,
    ) -> redrive_engine::Result<()> {
        let action = if one.enabled { "notifications.enable" } else { "notifications.disable" };
        let act = async { Ok(self.intake.set_notification(one.clone()).await?) };
        let words = |(): &()| ActEnd::from("done").changed(switch(known, one), Some(word(one)));
        self.engine.acted(by, action, subject(one), act, words).await
    }

    async fn remove_among(
        &self,
        known: &[Notification],
        one: &Notification,
        by: &By,
    ) -> redrive_engine::Result<bool> {
        let act = async { Ok(self.intake.remove_notification(&one.owner, &one.address).await?) };
        let words = |there: &bool| match there {
            true => ActEnd::from("done").changed(switch(known, one), None),
            false => ActEnd::from("there was none"),
        };
        self.engine.acted(by, "notifications.remove", subject(one), act, words).await
    }

    /// Owner and address as they are kept: without spaces around them, the domain as machines write it.
    pub fn checked(notification: Notification) -> Result<Notification, AddressError> {
        let owner = notification.owner.trim().to_owned();
        if owner.is_empty() || owner.len() > 255 || owner.chars().any(char::is_control) {
            return Err(AddressError::Owner);
        }
        let address = mail::plain_address(&notification.address).ok_or_else(|| {
            AddressError::Address(redrive_engine::model::text::one_line_chars(&notification.address, 80))
        })?;
        Ok(Notification { owner, address, enabled: notification.enabled })
    }
}

fn subject(one: &Notification) -> String {
    format!("{}: {}", one.owner, one.address)
}

fn is(one: &Notification, other: &Notification) -> bool {
    (&one.owner, &one.address) == (&other.owner, &other.address)
}

/// How this address is switched among those that are known; nothing when it is none of them.
fn switch(known: &[Notification], which: &Notification) -> Option<String> {
    known.iter().find(|one| is(one, which)).map(word)
}

fn word(one: &Notification) -> String {
    if one.enabled { "on" } else { "off" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_mail_address_of_somebody_is_kept() {
        let of = |owner: &str, address: &str| {
            Digests::checked(Notification { owner: owner.into(), address: address.into(), enabled: true })
        };
        let kept = of(" jane ", " jane@bücher.example ").unwrap();
        assert_eq!((kept.owner.as_str(), kept.address.as_str()), ("jane", "jane@xn--bcher-kva.example"));
        for bad in ["", "jane", "jane@", "a@b, c@d", "Jane <jane@example.org>", "a@b\r\nBcc: c@d"] {
            assert!(matches!(of("jane", bad), Err(AddressError::Address(_))), "{bad:?}");
        }
        for bad in ["", "  ", "a\nb", &"x".repeat(256)] {
            assert!(matches!(of(bad, "a@b"), Err(AddressError::Owner)), "{bad:?}");
        }
    }
}
