//! The parameters of generated kernels. One list gives the order both of the struct in the source and of the words of a
//! launch.

use super::class::{Class, Walk};
use super::form::{Form, KernelKind};
use crate::program::Input;

/// Members of `Params` that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// The address of each operand.
    Addresses,
    /// The members of [`GROUPS`].
    Groups,
    /// The members of [`TERMS`].
    Terms,
    /// What the total of a mean, a variance or a deviation is divided by.
    Divisor,
    /// The members of [`ACROSS`].
    Sides,
    /// The stride along the inner loop of each strided operand, in bytes.
    Strides,
    /// The strides along both loops of a tile of each located operand, in elements.
    TileStrides,
    /// The program's numbers.
    Numbers,
    /// The loops of the located operands.
    Loops,
    /// The loops over the outputs of a sum, with all operands.
    Outputs,
    /// The loops over tiles, with the located operands and the position of a tile along its two loops.
    Tiles,
}

/// The counts of an elementwise kernel, and the first ones of a sum.
pub(super) const GROUPS: [&str; 6] =
    ["groups", "full_blocks", "head", "tail", "inner_size", "inner_starts"];

/// Further counts of a sum.
pub(super) const TERMS: [&str; 7] =
    ["terms", "whole_groups", "outputs", "tiles", "segments", "segment_groups", "lanes_log2"];

/// The sizes of the two loops that tiles cut.
pub(super) const ACROSS: [&str; 2] = ["inner_size", "across_size"];

impl Form<'_> {
    /// Returns the parameters of the kernel, in order.
    pub(super) fn fields(&self) -> &'static [Field] {
        use Field::*;
        match (self.kind, self.walk) {
            (KernelKind::Map, Walk::Tiles) => &[Addresses, Sides, TileStrides, Numbers, Tiles],
            (KernelKind::Map, _) => &[Addresses, Groups, Strides, Numbers, Loops],
            (KernelKind::Sum(..), _) => {
                &[Addresses, Groups, Terms, Divisor, Strides, Numbers, Loops, Outputs]
            }
        }
    }

    /// Returns the declaration of a field and its size in words, or `None` if the kernel has nothing of the kind.
    pub(super) fn declared(&self, field: Field) -> Option<(String, usize)> {
        let slots = self.classes.len();
        let counts = |names: &[&str]| (format!("u64 {};", names.join(", ")), names.len());
        let loops = |name: &str, rank: u8, operands: usize| {
            let rank = usize::from(rank);
            (format!("Loops<{rank}, {operands}> {name};"), rank * (1 + operands))
        };
        let found = match field {
            Field::Addresses => ("u64 at[SLOTS];".into(), slots),
            Field::Groups => counts(&GROUPS),
            Field::Terms => counts(&TERMS),
            Field::Divisor => ("f64 divisor;".into(), 1),
            Field::Sides => counts(&ACROSS),
            Field::Strides => {
                let strided = self.classes.iter().filter(|&&class| class == Class::Strided).count();
                (format!("i64 inner[{strided}];"), strided)
            }
            Field::TileStrides => ("i64 step[LOCATED][2];".into(), 2 * self.located()),
            Field::Numbers => {
                let inputs = self.program.inputs().iter();
                let numbers = inputs.filter(|input| matches!(input, Input::Number(..))).count();
                (format!("BlValue number[{numbers}];"), 2 * numbers)
            }
            Field::Loops if self.located() == 0 => return None,
            Field::Loops => loops("loops", self.rank, self.located()),
            Field::Outputs => loops("outer", self.outer_rank, slots),
            Field::Tiles => loops("loops", self.rank, self.located() + 2),
        };
        (found.1 > 0).then_some(found)
    }

    /// Returns the number of words that the parameters take.
    pub(super) fn words(&self) -> usize {
        self.fields().iter().filter_map(|&field| self.declared(field)).map(|(_, words)| words).sum()
    }
}
