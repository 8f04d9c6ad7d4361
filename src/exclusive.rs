//! Proof that a value is used by nobody else.

use crate::sync::RwLockWriteGuard;

/// A reference to a value that nobody else may use: its lock is held for writing, or it is not shared.
///
/// Unlike `&mut T` it can be copied, because the destination of an operation can also be one of its operands. It is made
/// only from a write guard or from `&mut T`, so a function that takes it cannot be called under a lock for reading.
pub(crate) struct Exclusive<'a, T>(&'a T);

impl<T> Clone for Exclusive<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Exclusive<'_, T> {}

impl<'a, T> Exclusive<'a, T> {
    /// Borrows a value that is not shared, or whose write guard has been dereferenced.
    #[inline]
    pub(crate) fn new(value: &'a mut T) -> Exclusive<'a, T> {
        Exclusive(value)
    }

    /// Borrows a value through the guard of its lock.
    #[inline]
    pub(crate) fn locked(guard: &'a RwLockWriteGuard<'_, T>) -> Exclusive<'a, T> {
        Exclusive(guard)
    }

    /// Returns the value.
    #[inline]
    pub(crate) fn get(self) -> &'a T {
        self.0
    }

    /// Returns a part of the value, which nobody else may use either.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    #[inline]
    pub(crate) fn part<U>(self, part: impl FnOnce(&T) -> &U) -> Exclusive<'a, U> {
        Exclusive(part(self.0))
    }

    /// Returns a part of the value if it has it.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    #[inline]
    pub(crate) fn try_part<U>(
        self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Option<Exclusive<'a, U>> {
        part(self.0).map(Exclusive)
    }
}
