//! What calls compute: the elements and dtypes of results, on every device, compared with the model, with tables and
//! with recorded answers of other libraries.

mod bitcast;
#[path = "../corpus/mod.rs"]
mod corpus;
mod destinations;
#[path = "../devices/mod.rs"]
mod devices;
mod elements;
mod exhaustive;
mod expressions;
mod float8;
mod fuzz_cases;
mod goldens;
mod gradients;
mod indexing;
mod layouts;
#[path = "../model/mod.rs"]
mod model;
mod operations;
mod packing;
mod promotion;
mod result_types;
mod scope;
mod sizes;
mod special_cases;
mod sums;
mod ternary;
mod values;
mod views;
