//! Views by their definition: the position of element (i, j, …) in the storage, one element at a time.

use bitlane::Tensor;

/// A shape, strides and an offset, in elements.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub shape: Vec<usize>,
    pub strides: Vec<isize>,
    pub offset: usize,
}

impl View {
    pub fn row_major(shape: &[usize]) -> View {
        let strides = (0..shape.len())
            .map(|axis| {
                shape[axis + 1..].iter().map(|&size| size.max(1)).product::<usize>() as isize
            })
            .collect();
        View { shape: shape.to_vec(), strides, offset: 0 }
    }

    /// Returns the position of every element, in row-major order of the indices.
    pub fn places(&self) -> Vec<usize> {
        let mut places = vec![self.offset as isize];
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            places = places
                .iter()
                .flat_map(|&place| (0..size as isize).map(move |index| place + index * stride))
                .collect();
        }
        if self.shape.contains(&0) {
            return Vec::new();
        }
        places.into_iter().map(|place| place.try_into().unwrap()).collect()
    }

    /// Returns, for each element of a broadcast shape, the position of the element that it refers to.
    pub fn broadcast_places(&self, shape: &[usize]) -> Vec<usize> {
        let added = shape.len() - self.shape.len();
        let strides = (0..shape.len()).map(|axis| match axis.checked_sub(added) {
            Some(own) if self.shape[own] == shape[axis] => self.strides[own],
            Some(own) => {
                assert_eq!(self.shape[own], 1);
                0
            }
            None => 0,
        });
        View { shape: shape.to_vec(), strides: strides.collect(), offset: self.offset }.places()
    }

    /// Returns this view of a tensor's storage.
    pub fn of(&self, base: &Tensor) -> Tensor {
        base.as_strided(&self.shape, &self.strides, self.offset).unwrap()
    }

    /// Returns how many elements the storage must have at least.
    pub fn extent(&self) -> usize {
        self.places().into_iter().max().map_or(self.offset, |last| last + 1)
    }

    pub fn has_distinct_places(&self) -> bool {
        let mut places = self.places();
        places.sort_unstable();
        places.windows(2).all(|pair| pair[0] != pair[1])
    }
}

/// Returns the shape to which two shapes broadcast, if they do.
pub fn broadcast(lhs: &[usize], rhs: &[usize]) -> Option<Vec<usize>> {
    let rank = lhs.len().max(rhs.len());
    let padded = |shape: &[usize]| [vec![1; rank - shape.len()], shape.to_vec()].concat();
    padded(lhs)
        .into_iter()
        .zip(padded(rhs))
        .map(|pair| match pair {
            (l, r) if l == r => Some(l),
            (1, size) | (size, 1) => Some(size),
            _ => None,
        })
        .collect()
}
