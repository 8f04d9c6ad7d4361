//! PTX text: tokens, grammar, and the tree they make.

pub mod ast;
mod body;
mod lexer;
mod parser;

pub use parser::parse;
