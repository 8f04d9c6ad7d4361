//! What belongs to the whole process: the CPU backend's memory pool, and the number of its threads, even after a fork.

#![cfg(feature = "cpu")]

mod cpu_pool;
#[cfg(unix)]
mod fork;
mod threads;
