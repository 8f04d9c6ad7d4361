//! Parsing of PTX text: lexer, parser and syntax tree.

pub mod ast;
mod body;
mod lexer;
mod parser;

pub use parser::parse;
