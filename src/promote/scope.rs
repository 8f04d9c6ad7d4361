//! The rulebook of operations that name none.

use std::cell::Cell;

use super::Rules;

thread_local! {
    static CURRENT: Cell<Rules> = const { Cell::new(Rules::Paddle) };
}

/// Restores the rulebook of before when it is dropped, even by a panic.
struct Restore(Rules);

impl Drop for Restore {
    fn drop(&mut self) {
        set(self.0);
    }
}

/// Sets the rulebook of the thread. A thread that is ending has none, and computes by the default.
fn set(rules: Rules) {
    let _ = CURRENT.try_with(|current| current.set(rules));
}

impl Rules {
    /// Returns the rulebook by which this thread promotes where none is named: [`Rules::default`], except inside
    /// [`Rules::scope`].
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::Rules;
    /// assert_eq!(Rules::current(), Rules::Paddle);
    /// assert_eq!(Rules::Torch.scope(Rules::current), Rules::Torch);
    /// ```
    #[inline]
    pub fn current() -> Rules {
        CURRENT.try_with(Cell::get).unwrap_or_default()
    }

    /// Calls a function in which operators, methods and new expressions of this thread promote by this rulebook.
    ///
    /// A rulebook that is named, as in `binary(…).rules(…)`, has precedence. An expression keeps the rulebook with which
    /// its last operation was added, wherever it runs. Other threads are not affected. Losses and `copysign_grad` promote by
    /// Paddle's rules everywhere, and a reduction has the same dtype under every rulebook.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{Device, Rules, Tensor};
    /// let x = Tensor::from_nested([1, 2], &Device::cpu())?;
    /// let y = Tensor::from_nested([0.5f32, 0.5], &Device::cpu())?;
    /// assert!((&x + &y).is_err()); // Paddle's rules do not mix integers with floats
    /// let sum = Rules::Torch.scope(|| &x + &y)?;
    /// assert_eq!(sum.to_vec::<f32>()?, [1.5, 2.5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn scope<R>(self, function: impl FnOnce() -> R) -> R {
        let _restore = Restore(Rules::current());
        set(self);
        function()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_nest_and_end_with_a_panic_too() {
        Rules::Torch.scope(|| {
            assert_eq!(Rules::Jax.scope(Rules::current), Rules::Jax);
            assert_eq!(Rules::current(), Rules::Torch);
            let panicked = std::panic::catch_unwind(|| Rules::NumPy.scope(|| panic!("on purpose")));
            assert!(panicked.is_err());
            assert_eq!(Rules::current(), Rules::Torch);
            let elsewhere = std::thread::spawn(Rules::current).join().unwrap();
            assert_eq!(elsewhere, Rules::Paddle);
        });
        assert_eq!(Rules::current(), Rules::default());
    }
}
