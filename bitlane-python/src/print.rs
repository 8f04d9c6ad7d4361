//! How an array is represented.

use crate::array::{Array, Value};
use crate::dtype::long_name;

/// Returns the elements as Python would write them, and the dtype; the device if it is not the CPU.
pub fn represented(array: &Array) -> String {
    let dtype = long_name(array.element_type());
    let tensor = match &array.value {
        Value::Tensor(tensor) => tensor,
        Value::Traced(traced) => {
            let sizes: Vec<_> = traced.shape.iter().map(usize::to_string).collect();
            return format!("Array(<traced>, shape=({}), dtype={dtype})", sizes.join(", "));
        }
    };
    let mut text = separated(&format!("{tensor:#}")).replace('\n', "\n      ");
    // Between matrices there is an empty line.
    text = text.replace("\n      \n", "\n\n");
    if tensor.is_empty() && tensor.rank() != 1 {
        text += &format!(", shape={:?}", tensor.shape());
    }
    let device = tensor.device().to_string();
    let device = if device == "cpu" { String::new() } else { format!(", device='{device}'") };
    format!("Array({text}, dtype={dtype}{device})")
}

/// Puts commas between the elements and the rows.
fn separated(text: &str) -> String {
    let mut separated = String::with_capacity(text.len() * 5 / 4);
    for (place, letter) in text.char_indices() {
        let is_after_word = !separated.ends_with([' ', '\n', '[']) && !separated.is_empty();
        if matches!(letter, ' ' | '\n') && is_after_word && !separated.ends_with(',') {
            let next = text[place..].trim_start().chars().next();
            if next.is_some_and(|next| next != ']') {
                separated.push(',');
            }
        }
        separated.push(letter);
    }
    separated
}
