//! Tensors that are made while an expression is lowered.

use std::cell::OnceCell;

use crate::Tensor;

/// Keeps results of reductions and views of operands as long as the computation that reads them.
#[derive(Default)]
pub(super) struct Temporaries {
    next: OnceCell<Box<(Tensor, Temporaries)>>,
}

impl Temporaries {
    /// Keeps a tensor.
    pub(super) fn keep(&self, tensor: Tensor) -> &Tensor {
        let mut last = self;
        while let Some(link) = last.next.get() {
            last = &link.1;
        }
        &last.next.get_or_init(|| Box::new((tensor, Temporaries::default()))).0
    }
}

/// Drops one tensor after the other, since a long chain would overflow the stack if each dropped the next.
impl Drop for Temporaries {
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut link) = next {
            next = link.1.next.take();
        }
    }
}
