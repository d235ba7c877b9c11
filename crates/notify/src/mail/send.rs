//! One conversation with a mail server, from its greeting to its 250.

use std::time::Duration;

use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail as MailFrom, Noop, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};
use redrive_model::Code;

use super::error::{MailError, Refused, Sent, Step};
use super::message::{Mail, Ready, ready};
use super::settings::{Encryption, MailSettings};
use crate::shown;

/// How we sign in.
const MECHANISMS: &[Mechanism] = &[Mechanism::Plain, Mechanism::Login];
/// A goodbye is polite, and waited for no longer than this.
const GOODBYE: Duration = Duration::from_secs(1);

/// Sends mail by one server. Each mail has a connection of its own.
#[derive(Debug, Clone)]
pub struct Mailer {
    settings: MailSettings,
}

impl Mailer {
    /// Connects nobody yet.
    #[must_use]
    pub const fn new(settings: MailSettings) -> Self {
        Self { settings }
    }

    /// Sends a mail, once. It is sent when the server has said 250 to all of it.
    ///
    /// Recipients are asked for one by one: those who are taken get it, and [`Sent::refused`] tells the others.
    ///
    /// # Errors
    ///
    /// [`MailError`] when nobody got it: a server that is away or asks for time is `MAIL_UNAVAILABLE`, a refusal `MAIL_REFUSED`, a wrong password
    /// `MAIL_AUTH`, a connection that others could read `MAIL_TLS`. [`MailError::unsure`] says that the server may have it all the same.
    pub async fn send(&self, mail: &Mail) -> Result<Sent, MailError> {
        let ready = ready(mail, &self.settings.from)?;
        let mut step = Step::Connect;
        let within = self.settings.timeout;
        let talked = tokio::time::timeout(within, self.talk(&ready, &mut step)).await;
        let (sent, mut connection) = match talked {
            Ok(talked) => talked?,
            Err(_) => return Err(MailError::late(step, within)),
        };
        // It has the mail, whatever it says now.
        let _ = tokio::time::timeout(GOODBYE, connection.quit()).await;
        Ok(sent)
    }

    /// Greets the server, encrypts and signs in as a mail would, and asks it for nothing. No mail is sent.
    ///
    /// # Errors
    ///
    /// What a mail would meet on the same way; see [`Mailer::send`].
    pub async fn check(&self) -> Result<(), MailError> {
        let mut step = Step::Connect;
        let within = self.settings.timeout;
        let greeting = async {
            let mut connection = self.connect(&mut step).await?;
            connection.command(Noop).await.map_err(|error| MailError::of(step, &error))?;
            Ok(connection)
        };
        let mut connection = match tokio::time::timeout(within, greeting).await {
            Ok(greeted) => greeted?,
            Err(_) => return Err(MailError::late(step, within)),
        };
        let _ = tokio::time::timeout(GOODBYE, connection.quit()).await;
        Ok(())
    }

    async fn talk(&self, mail: &Ready, step: &mut Step) -> Result<(Sent, AsyncSmtpConnection), MailError> {
        let mut connection = self.connect(step).await?;
        *step = Step::Sender;
        let from = &self.settings.from.email;
        let unicode = !from.user().is_ascii() || mail.to.iter().any(|to| !to.email.user().is_ascii());
        let utf8 = connection.server_info().supports_feature(Extension::SmtpUtfEight);
        let parameters = if unicode && utf8 { vec![MailParameter::SmtpUtfEight] } else { Vec::new() };
        let command = MailFrom::new(Some(from.clone()), parameters);
        connection.command(command).await.map_err(|error| MailError::of(*step, &error))?;
        *step = Step::Recipients;
        let (mut accepted, mut refused) = (Vec::new(), Vec::new());
        for to in &mail.to {
            match recipient(&mut connection, to, utf8).await? {
                None => accepted.push(to.email.to_string()),
                Some(one) => refused.push(one),
            }
        }
        if accepted.is_empty() {
            let _ = tokio::time::timeout(GOODBYE, connection.quit()).await;
            return Err(MailError::nobody(refused));
        }
        *step = Step::Content;
        if let Err(error) = connection.command(Data).await {
            // Not a byte of it was sent.
            return Err(MailError { unsure: false, ..MailError::of(*step, &error) });
        }
        let answer = connection.message(&mail.bytes).await.map_err(|error| MailError::of(*step, &error))?;
        let words = shown::line(&answer.message().collect::<Vec<_>>().join(" "), 200);
        Ok((Sent { accepted, refused, words }, connection))
    }

    async fn connect(&self, step: &mut Step) -> Result<AsyncSmtpConnection, MailError> {
        let settings = &self.settings;
        let hello = ClientId::Domain(settings.from.email.domain().to_owned());
        let tls = match settings.encryption {
            Encryption::Implicit | Encryption::StartTls => Some(self.tls()?),
            Encryption::None => None,
        };
        let (first, later) = match settings.encryption {
            Encryption::Implicit => (tls, None),
            Encryption::StartTls => (None, tls),
            Encryption::None => (None, None),
        };
        let server = (settings.host.as_str(), settings.port);
        let connecting =
            AsyncSmtpConnection::connect_tokio1(server, Some(settings.timeout), &hello, first, None);
        let mut connection = connecting.await.map_err(|error| MailError::of(*step, &error))?;
        if let Some(tls) = later {
            *step = Step::Encrypt;
            if !connection.can_starttls() {
                let _ = tokio::time::timeout(GOODBYE, connection.quit()).await;
                return Err(MailError::tls("the server offers no STARTTLS"));
            }
            connection.starttls(tls, &hello).await.map_err(|error| MailError::of(*step, &error))?;
        }
        if let Some((user, password)) = &settings.user {
            *step = Step::SignIn;
            let credentials = Credentials::new(user.clone(), password.reveal().to_owned());
            let signing = connection.auth(MECHANISMS, &credentials);
            signing.await.map_err(|error| MailError::of(*step, &error))?;
        }
        Ok(connection)
    }

    /// TLS by ring, trusting what the machine trusts and what the settings add.
    fn tls(&self) -> Result<TlsParameters, MailError> {
        let mut parameters = TlsParameters::builder(self.settings.host.clone());
        if !self.settings.extra_roots.is_empty() {
            let roots = Certificate::from_pem(&self.settings.extra_roots);
            let roots =
                roots.map_err(|_| MailError::tls("a certificate that is to be trusted cannot be read"))?;
            parameters = parameters.add_root_certificate(roots);
        }
        parameters.build_rustls().map_err(|error| MailError::tls(&format!("no TLS: {error}")))
    }
}

/// Asks for one recipient; an answer that is no yes is its own. What ends the conversation is everybody's.
async fn recipient(
    connection: &mut AsyncSmtpConnection,
    to: &Mailbox,
    utf8: bool,
) -> Result<Option<Refused>, MailError> {
    let address = to.email.to_string();
    if !to.email.user().is_ascii() && !utf8 {
        let words = "the server takes no addresses with such letters".to_owned();
        return Ok(Some(Refused { address, code: Code::MailRefused, reply: None, words }));
    }
    let Err(error) = connection.command(Rcpt::new(to.email.clone(), Vec::new())).await else {
        return Ok(None);
    };
    let error = MailError::of(Step::Recipients, &error);
    match error.reply {
        // 421 says that the server closes the connection.
        None | Some(421) => Err(error),
        Some(_) => Ok(Some(Refused { address, code: error.code, reply: error.reply, words: error.words })),
    }
}
