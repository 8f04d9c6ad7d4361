//! Splits PTX text into tokens with line numbers.

/// A token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token<'a> {
    /// A word: opcode, directive, register, label.
    Word(&'a str),
    /// An integer.
    Int(i128),
    /// The bits of a single-precision number.
    Single(u32),
    /// The bits of a double-precision number.
    Double(u64),
    /// A quoted string.
    Text(&'a str),
    /// Any other character.
    Mark(u8),
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(word) => write!(f, "`{word}`"),
            Token::Int(value) => write!(f, "{value}"),
            Token::Single(bits) => write!(f, "{}", f32::from_bits(*bits)),
            Token::Double(bits) => write!(f, "{}", f64::from_bits(*bits)),
            Token::Text(text) => write!(f, "{text:?}"),
            Token::Mark(mark) => write!(f, "`{}`", char::from(*mark)),
        }
    }
}

/// A token and its line.
pub type Lexeme<'a> = (Token<'a>, u32);

fn word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%' | b'.')
}

/// Splits a text into tokens.
pub fn lex(text: &str) -> Result<Vec<Lexeme<'_>>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() / 4);
    let (mut i, mut line) = (0, 1u32);
    while let Some(&b) = bytes.get(i) {
        match b {
            b'\n' => {
                line += 1;
                i += 1;
            }
            b' ' | b'\t' | b'\r' => i += 1,
            b'/' if bytes.get(i + 1) == Some(&b'/') => {
                while i < bytes.len() && bytes[i] != b'\n' {
                    i += 1;
                }
            }
            b'/' if bytes.get(i + 1) == Some(&b'*') => {
                let end =
                    text[i + 2..].find("*/").ok_or(format!("line {line}: comment without end"))?;
                line += text[i..i + 2 + end].matches('\n').count() as u32;
                i += end + 4;
            }
            b'"' => {
                let end =
                    text[i + 1..].find('"').ok_or(format!("line {line}: string without end"))?;
                out.push((Token::Text(&text[i + 1..i + 1 + end]), line));
                i += end + 2;
            }
            b'0'..=b'9' => {
                let start = i;
                while i < bytes.len() && word_byte(bytes[i]) && bytes[i] != b'.' {
                    i += 1;
                }
                // A number such as `8.8` in `.version 8.8` is one token.
                if bytes.get(i) == Some(&b'.') && bytes.get(i + 1).is_some_and(u8::is_ascii_digit) {
                    i += 1;
                    while i < bytes.len() && (bytes[i].is_ascii_alphanumeric()) {
                        i += 1;
                    }
                }
                out.push((
                    number(&text[start..i])
                        .ok_or(format!("line {line}: bad number {}", &text[start..i]))?,
                    line,
                ));
            }
            _ if word_byte(b) => {
                let start = i;
                i += 1;
                // `.reg.b32` is two directives; in `add.u32` the dot belongs to the opcode.
                while i < bytes.len()
                    && !(b == b'.' && bytes[i] == b'.')
                    && (word_byte(bytes[i])
                        || (bytes[i] == b':' && bytes.get(i + 1) == Some(&b':'))
                        || (bytes[i] == b':' && bytes[i - 1] == b':'))
                {
                    i += 1;
                }
                out.push((Token::Word(&text[start..i]), line));
            }
            _ => {
                out.push((Token::Mark(b), line));
                i += 1;
            }
        }
    }
    Ok(out)
}

fn number(text: &str) -> Option<Token<'_>> {
    if let Some(hex) = text.strip_prefix("0f").or(text.strip_prefix("0F")) {
        return u32::from_str_radix(hex, 16).ok().map(Token::Single);
    }
    if let Some(hex) = text.strip_prefix("0d").or(text.strip_prefix("0D")) {
        return u64::from_str_radix(hex, 16).ok().map(Token::Double);
    }
    if text.contains('.') {
        return text.parse::<f64>().ok().map(|v| Token::Double(v.to_bits()));
    }
    let digits = text.trim_end_matches(['U', 'u']);
    let value = if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        i128::from_str_radix(hex, 16)
    } else if let Some(bin) = digits.strip_prefix("0b") {
        i128::from_str_radix(bin, 2)
    } else if digits.len() > 1 && digits.starts_with('0') {
        i128::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    value.ok().map(Token::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_marks() {
        let tokens: Vec<_> =
            lex("ld.v2 {%r1}, [%rd1+-0x10]; // c\n0f3F800000 a::b").unwrap_or_default();
        assert_eq!(tokens[0], (Token::Word("ld.v2"), 1));
        assert_eq!(tokens[8], (Token::Mark(b'-'), 1));
        assert_eq!(tokens[9], (Token::Int(16), 1));
        assert_eq!(tokens[12], (Token::Single(0x3f80_0000), 2));
        assert_eq!(tokens[13], (Token::Word("a::b"), 2));
        let tokens = lex(".reg.b16 %h;").unwrap_or_default();
        assert_eq!(tokens[..2], [(Token::Word(".reg"), 1), (Token::Word(".b16"), 1)]);
        assert!(lex("\"open").is_err());
    }
}
