//! Replays recorded answers of other libraries: the records, the crate's results, and the list of differences.

mod differing;
pub mod excuses;
mod operations;
pub mod record;
pub mod replay;
