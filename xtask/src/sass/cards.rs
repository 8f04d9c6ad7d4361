//! A model of several cards, which turns the instructions of a kernel into a share of the memory bandwidth.

use super::Measured;
use super::measure::Figures;

/// A card: its memory bandwidth, its multiprocessors and their clock, and the elements per clock of two pipes of each.
/// All issue 128 instructions per clock, 64 of them to the pipe of logic and comparisons, 32 to memory and to other
/// threads, 16 to special functions.
pub struct Card {
    pub name: &'static str,
    /// The architecture whose machine code is nearest.
    pub arch: &'static str,
    gigabytes: f64,
    multiprocessors: f64,
    gigahertz: f64,
    multiplications: f64,
    doubles: f64,
}

const fn card(name: &'static str, arch: &'static str, figures: [f64; 5]) -> Card {
    let [gigabytes, multiprocessors, gigahertz, multiplications, doubles] = figures;
    Card { name, arch, gigabytes, multiprocessors, gigahertz, multiplications, doubles }
}

pub const CARDS: &[Card] = &[
    card("T4", "sm_80", [320.0, 40.0, 1.59, 64.0, 2.0]),
    card("3090", "sm_80", [936.0, 82.0, 1.70, 128.0, 2.0]),
    card("4090", "sm_80", [1008.0, 128.0, 2.52, 128.0, 2.0]),
    card("5090", "sm_100", [1792.0, 170.0, 2.41, 128.0, 2.0]),
    card("A100", "sm_80", [2039.0, 108.0, 1.41, 64.0, 32.0]),
    card("H100", "sm_90", [3350.0, 132.0, 1.75, 128.0, 64.0]),
    card("B200", "sm_100", [8000.0, 148.0, 1.85, 128.0, 64.0]),
];

impl Card {
    /// Whether the card does few `f64` operations.
    pub fn is_for_consumers(&self) -> bool {
        self.doubles < 32.0
    }

    /// Returns the share of the bandwidth that a kernel reaches if its instructions are all that takes time. It moves
    /// this number of bytes per element.
    pub fn share(&self, figures: &Figures, bytes: f64) -> f64 {
        let clocks = [
            figures.instructions_per_element / 128.0,
            figures.alu_per_element / 64.0,
            figures.memory_per_element / 32.0,
            figures.multiply_per_element / self.multiplications,
            figures.special_per_element / 16.0,
            figures.doubles_per_element / self.doubles,
        ];
        let elements =
            self.multiprocessors * self.gigahertz / clocks.into_iter().fold(0.0, f64::max);
        (elements * bytes / self.gigabytes).min(1.0)
    }
}

/// Returns the figures of the kernel with a title on an architecture.
pub fn find<'a>(measured: &'a [Measured], arch: &str, title: &str) -> Option<&'a Figures> {
    let of_arch = measured.iter().find(|measured| measured.arch == arch)?;
    of_arch.kernels.iter().find(|figures| figures.title.as_deref() == Some(title))
}
