//! TLS with a certificate that is good for nothing but tests.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// The certificate, for those who are to trust it: it vouches for itself.
#[must_use]
pub fn certificate() -> CertificateDer<'static> {
    CertificateDer::from_slice(include_bytes!("certificate.der"))
}

pub(super) fn acceptor() -> Result<TlsAcceptor, rustls::Error> {
    showing(certificate(), include_bytes!("key.der"))
}

/// Shows a certificate for the same names, which nobody trusts.
pub(super) fn impostor() -> Result<TlsAcceptor, rustls::Error> {
    let certificate = CertificateDer::from_slice(include_bytes!("impostor.der"));
    showing(certificate, include_bytes!("impostor-key.der"))
}

fn showing(certificate: CertificateDer<'static>, key: &'static [u8]) -> Result<TlsAcceptor, rustls::Error> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
