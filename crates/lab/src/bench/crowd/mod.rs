//! A server with a crowd before it: clients that stall and drip, and pages that stay open. The server is the program itself, as a process of its own.

pub mod live;
pub mod slow;
