//! The replay of the libraries' answers: records, the crate's answers to them, and the list of
//! what the crate answers otherwise.

mod differing;
pub mod excuses;
mod operations;
pub mod record;
pub mod replay;
