//! The bodies of functions: declarations, labels, instructions and their operands.

use super::ast::{Arg, Class, Instruction, Statement};
use super::lexer::Token;
use super::parser::{Parsed, Parser, space, type_bytes};

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Parsed<Option<Statement>> {
        let line = self.line();
        Ok(Some(match self.next()? {
            Token::Mark(b'{') => Statement::Open,
            Token::Mark(b'}') => Statement::Close,
            Token::Mark(b';') => return Ok(None),
            Token::Mark(b'@') => {
                let negated = self.take(b'!');
                let guard = self.word()?.to_string();
                let opcode = self.word()?;
                self.instruction(line, Some((guard, negated)), opcode)?
            }
            Token::Word(".reg") => self.registers()?,
            Token::Word(word @ (".local" | ".shared" | ".param" | ".global" | ".const")) => {
                Statement::Variable(self.variable(space(word))?)
            }
            Token::Word(".loc" | ".file") => {
                self.at -= 1;
                self.skip_line();
                return Ok(None);
            }
            Token::Word(".pragma" | ".callprototype") => {
                while !self.take(b';') {
                    if let Token::Text(text) = self.next()?
                        && let Some(mask) = text.strip_prefix("used_bytes_mask 0x")
                    {
                        self.used = u64::from_str_radix(mask.trim(), 16).ok();
                    }
                }
                return Ok(None);
            }
            Token::Word(word) if self.peek() == Some(Token::Mark(b':')) => {
                self.at += 1;
                if self.peek() == Some(Token::Word(".branchtargets")) {
                    self.at += 1;
                    let mut labels = Vec::new();
                    loop {
                        labels.push(self.word()?.to_string());
                        if !self.take(b',') {
                            break;
                        }
                    }
                    self.mark(b';')?;
                    Statement::Targets(word.to_string(), labels)
                } else {
                    Statement::Label(word.to_string())
                }
            }
            Token::Word(word) if !word.starts_with('.') => self.instruction(line, None, word)?,
            other => return self.fail(&format!("unexpected {other}")),
        }))
    }

    fn registers(&mut self) -> Parsed<Statement> {
        let mut kind = self.word()?;
        let lanes = match kind {
            ".v2" => 2,
            ".v4" => 4,
            _ => 1,
        };
        if lanes > 1 {
            kind = self.word()?;
        }
        let (class, _) = self.register_class(kind)?;
        let mut names = Vec::new();
        loop {
            let name = self.word()?.to_string();
            let count = if self.take(b'<') {
                let count = self.int()? as u32;
                self.mark(b'>')?;
                Some(count)
            } else {
                None
            };
            names.push((name, count));
            if !self.take(b',') {
                break;
            }
        }
        self.mark(b';')?;
        Ok(Statement::Registers { class, lanes, names })
    }

    /// Returns the class and the size in bytes of registers of a type.
    pub(super) fn register_class(&mut self, kind: &str) -> Parsed<(Class, u64)> {
        match (kind, type_bytes(kind)) {
            (".pred", _) => Ok((Class::Pred, 0)),
            (_, Some(size @ 1..=4)) => Ok((Class::Word, size)),
            (_, Some(8)) => Ok((Class::Wide, 8)),
            _ => self.fail(&format!("registers of type {kind} are not supported")),
        }
    }

    fn instruction(
        &mut self,
        line: u32,
        guard: Option<(String, bool)>,
        opcode: &str,
    ) -> Parsed<Statement> {
        let mut args = Vec::new();
        while !self.take(b';') {
            args.push(self.arg()?);
            self.take(b',');
        }
        let (opcode, used) = (opcode.to_string(), self.used.take());
        Ok(Statement::Instruction(Instruction { line, guard, opcode, args, used }))
    }

    fn arg(&mut self) -> Parsed<Arg> {
        Ok(match self.next()? {
            Token::Mark(b'[') => {
                let base = self.arg()?;
                let (base, mut offset) = match base {
                    Arg::Memory(inner, offset) => (*inner, offset),
                    Arg::Int(value) => (Arg::Int(0), value as i64),
                    other => (other, 0),
                };
                offset += self.offset()?;
                if self.take(b',') {
                    // `[texture, {x, y}]` is not supported, but is parsed so that the error can name the instruction.
                    let mut items = vec![base];
                    while !self.take(b']') {
                        items.push(self.arg()?);
                        self.take(b',');
                    }
                    return Ok(Arg::List(items));
                }
                self.mark(b']')?;
                Arg::Memory(Box::new(base), offset)
            }
            Token::Mark(open @ (b'{' | b'(')) => {
                let close = if open == b'{' { b'}' } else { b')' };
                let mut items = Vec::new();
                while !self.take(close) {
                    items.push(self.arg()?);
                    self.take(b',');
                }
                if open == b'{' { Arg::Vector(items) } else { Arg::List(items) }
            }
            Token::Mark(b'!') => Arg::Not(self.word()?.to_string()),
            Token::Mark(b'-') => match self.next()? {
                Token::Int(v) => Arg::Int(-v),
                Token::Single(v) => Arg::Single(v ^ 1 << 31),
                Token::Double(v) => Arg::Double(v ^ 1 << 63),
                other => return self.fail(&format!("cannot negate {other}")),
            },
            Token::Int(v) => Arg::Int(v),
            Token::Single(v) => Arg::Single(v),
            Token::Double(v) => Arg::Double(v),
            Token::Word(name) => {
                if self.take(b'|') {
                    return Ok(Arg::Pair(name.to_string(), self.word()?.to_string()));
                }
                let base = Arg::Name(name.to_string());
                match self.offset()? {
                    0 => base,
                    offset => Arg::Memory(Box::new(base), offset),
                }
            }
            other => return self.fail(&format!("unexpected operand {other}")),
        })
    }
}
