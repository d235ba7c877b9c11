//! An address at which nobody listens, and that nobody else gets as long as this lives.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// See the module.
#[derive(Debug)]
pub struct Nobody(TcpSocket);

impl Nobody {
    /// Takes a free port, and does not listen.
    pub fn new() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self(socket))
    }

    /// Whoever connects to it is refused.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn who_connects_is_refused_and_the_place_is_taken() {
        let nobody = Nobody::new().unwrap();
        let address = nobody.address().unwrap();
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert_eq!(TcpListener::bind(address).unwrap_err().kind(), ErrorKind::AddrInUse);
    }
}
