//! Models of the threads that share an operation and of the locks that it takes: loom runs each with every order in which
//! the threads can take turns, and with every value that their atomics may return. A deadlock, a read that races with a
//! write, and an assertion that fails in one of these orders fail the test.
//!
//! What runs is the crate's own code. The files `src/backend/cpu/threads/crew.rs`, `src/backend/cpu/threads/sharing.rs` and
//! `src/storage.rs` are compiled here a second time, with loom's locks and atomics ([`sync`]) in place of the standard
//! library's, and with the least that they need of the rest of the crate.
//!
//! The number of orders is bounded by how often in one of them a thread is stopped where it could go on: each model says how
//! often, and `BITLANE_MORE_PREEMPTIONS` adds to it, as `cargo xtask sanitize models` does.

#[allow(dead_code, reason = "the models use a part of the files they check")]
mod cpu;
#[allow(dead_code, reason = "the models use a part of the files they check")]
#[path = "../../src/exclusive.rs"]
mod exclusive;
mod locks;
#[allow(dead_code, unused_imports, reason = "the models use a part of the files they check")]
#[path = "../../src/storage.rs"]
mod storage;
#[allow(dead_code, reason = "which locks the files use depends on features")]
mod sync;

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::{Arguments, Trial};

/// What `storage.rs` knows of the backends.
mod backend {
    pub(crate) use crate::locks::Memory;

    /// Graphs, which have no part in the models.
    #[cfg(feature = "cuda")]
    pub(crate) mod cuda {
        pub(crate) fn note<T>(_storages: &[T], _out: usize) {}
    }
}

/// What `storage.rs` knows of plans.
mod plan {
    pub(crate) const OUT: usize = 0;
}

pub(crate) use locks::Device;

pub(crate) type Result<T> = std::result::Result<T, std::convert::Infallible>;

/// Runs a model in every order in which threads are stopped at most so often where they could go on.
fn in_every_order(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let more = env::var("BITLANE_MORE_PREEMPTIONS").map_or(0, |more| more.parse().unwrap());
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions + more);
    builder.max_branches = 100_000;
    let count = Arc::new(AtomicUsize::new(0));
    let orders = Arc::clone(&count);
    builder.check(move || {
        orders.fetch_add(1, Ordering::Relaxed);
        model();
    });
    assert!(count.load(Ordering::Relaxed) > 1, "the threads never meet");
}

fn main() {
    macro_rules! trials {
        ($($module:ident { $($test:ident)* })*) => {
            vec![$($(Trial::test(concat!(stringify!($module), "::", stringify!($test)), || {
                $module::$test();
                Ok(())
            }),)*)*]
        };
    }
    let tests = trials! {
        cpu {
            every_part_is_done_once_and_seen
            nobody_uses_the_work_after_its_owner_returned
            operations_in_a_row
            two_callers_share_the_threads
            a_panic_of_a_helper_reaches_the_caller
        }
        locks {
            two_operations_on_the_same_storages
            three_operations
        }
    };
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}
