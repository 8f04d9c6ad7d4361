//! Parses tokens to the syntax tree of [`ast`](super::ast).

use super::ast::{Function, Init, Module, Space, Statement, Variable};
use super::lexer::{Lexeme, Token, lex};

pub(super) type Parsed<T> = Result<T, String>;

/// Parses a PTX file. The error names the line.
pub fn parse(text: &str) -> Parsed<Module> {
    let tokens = lex(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, element: 1, used: None };
    parser.module()
}

pub(super) struct Parser<'a> {
    tokens: &'a [Lexeme<'a>],
    pub(super) at: usize,
    /// Bytes per element of the variable declared last.
    element: u64,
    /// The used-bytes mask that a pragma gives for the next load.
    pub(super) used: Option<u64>,
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|t| t.0)
    }

    pub(super) fn line(&self) -> u32 {
        self.tokens.get(self.at.min(self.tokens.len().saturating_sub(1))).map_or(0, |t| t.1)
    }

    pub(super) fn next(&mut self) -> Parsed<Token<'a>> {
        let token = self.peek().ok_or("the file ends early")?;
        self.at += 1;
        Ok(token)
    }

    pub(super) fn fail<T>(&self, what: &str) -> Parsed<T> {
        let line = self.tokens.get(self.at.saturating_sub(1)).map_or(0, |t| t.1);
        Err(format!("line {line}: {what}"))
    }

    pub(super) fn mark(&mut self, mark: u8) -> Parsed<()> {
        match self.next()? {
            Token::Mark(m) if m == mark => Ok(()),
            other => self.fail(&format!("expected '{}', found {other}", mark as char)),
        }
    }

    pub(super) fn take(&mut self, mark: u8) -> bool {
        let found = self.peek() == Some(Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    pub(super) fn word(&mut self) -> Parsed<&'a str> {
        match self.next()? {
            Token::Word(w) => Ok(w),
            other => self.fail(&format!("expected a name, found {other}")),
        }
    }

    pub(super) fn int(&mut self) -> Parsed<i128> {
        let negative = self.take(b'-');
        match self.next()? {
            Token::Int(v) => Ok(if negative { -v } else { v }),
            other => self.fail(&format!("expected an integer, found {other}")),
        }
    }

    pub(super) fn skip_line(&mut self) {
        let line = self.line();
        while self.at < self.tokens.len() && self.line() == line {
            self.at += 1;
        }
    }

    pub(super) fn module(&mut self) -> Parsed<Module> {
        let mut module = Module::default();
        let mut common = false;
        while self.peek().is_some() {
            let word = self.word()?;
            match word {
                ".version" => match self.next()? {
                    Token::Double(bits) => {
                        module.version = (f64::from_bits(bits) * 10.0).round() as u32
                    }
                    _ => return self.fail(".version without a number"),
                },
                ".target" => {
                    let target = self.word()?;
                    let digits: String = target.chars().filter(char::is_ascii_digit).collect();
                    module.target =
                        digits.parse().or_else(|_| self.fail("a .target that is no sm_ number"))?;
                    while self.take(b',') {
                        self.word()?;
                    }
                }
                ".address_size" => {
                    if self.int()? != 64 {
                        return self.fail("only 64-bit addresses are supported");
                    }
                }
                ".common" => common = true,
                ".visible" | ".extern" | ".weak" => {}
                ".entry" | ".func" => {
                    if let Some(function) = self.function(word == ".entry")? {
                        module.functions.push(function);
                    }
                }
                ".global" | ".const" | ".shared" => {
                    let variable = self.variable(space(word))?;
                    let common = std::mem::take(&mut common);
                    module.variables.push(Variable { common, ..variable });
                }
                ".file" | ".loc" => {
                    self.at -= 1;
                    self.skip_line();
                }
                ".section" => {
                    self.word()?;
                    while !self.take(b'}') {
                        self.next()?;
                    }
                }
                ".pragma" | ".alias" => {
                    while !self.take(b';') {
                        self.next()?;
                    }
                }
                other => return self.fail(&format!("unknown directive {other}")),
            }
        }
        if module.version == 0 {
            return Err("no .version: this is not PTX".into());
        }
        Ok(module)
    }

    pub(super) fn function(&mut self, entry: bool) -> Parsed<Option<Function>> {
        let mut function = Function { entry, ..Function::default() };
        while let Some(Token::Word(w)) = self.peek()
            && w.starts_with(".noreturn") | w.starts_with(".attribute")
        {
            self.at += 1;
        }
        if self.peek() == Some(Token::Mark(b'(')) {
            function.results = self.parameters()?;
        }
        function.name = self.word()?.to_string();
        if self.peek() == Some(Token::Mark(b'(')) {
            function.params = self.parameters()?;
        }
        loop {
            match self.next()? {
                Token::Mark(b';') => return Ok(None),
                Token::Mark(b'{') => break,
                Token::Word(w @ (".maxntid" | ".reqntid")) => {
                    let mut dims = [1u32; 3];
                    for (k, dim) in dims.iter_mut().enumerate() {
                        if k > 0 && !self.take(b',') {
                            break;
                        }
                        *dim = self.int()? as u32;
                    }
                    function.max_threads = Some(dims.iter().product());
                    if w == ".reqntid" {
                        function.required_block = Some(dims);
                    }
                }
                Token::Word(
                    ".minnctapersm"
                    | ".maxnreg"
                    | ".maxclusterrank"
                    | ".abi_preserve"
                    | ".abi_preserve_control",
                ) => {
                    self.int()?;
                }
                Token::Word(".noreturn" | ".explicitcluster" | ".blocksareclusters") => {}
                Token::Word(".reqnctapercluster") => {
                    self.int()?;
                    while self.take(b',') {
                        self.int()?;
                    }
                }
                Token::Word(".pragma") => {
                    while !self.take(b';') {
                        self.next()?;
                    }
                }
                other => return self.fail(&format!("unknown function attribute {other}")),
            }
        }
        let mut depth = 1;
        while depth > 0 {
            if let Some(statement) = self.statement()? {
                depth = match statement {
                    Statement::Open => depth + 1,
                    Statement::Close => depth - 1,
                    _ => depth,
                };
                if depth > 0 {
                    function.body.push(statement);
                }
            }
        }
        Ok(Some(function))
    }

    pub(super) fn parameters(&mut self) -> Parsed<Vec<Variable>> {
        self.mark(b'(')?;
        let mut params = Vec::new();
        while !self.take(b')') {
            match self.word()? {
                ".param" => params.push(self.declarator(Space::Param)?),
                ".reg" => {
                    let kind = self.word()?;
                    let (class, size) = self.register_class(kind)?;
                    params.push(Variable {
                        common: false,
                        name: self.word()?.to_string(),
                        space: Space::Param,
                        size,
                        align: size.max(1),
                        init: None,
                        unsized_array: false,
                        managed: false,
                        register: Some(class),
                    });
                }
                other => return self.fail(&format!("parameters in {other} are not supported")),
            }
            self.take(b',');
        }
        Ok(params)
    }

    /// Parses a variable up to its `;`.
    pub(super) fn variable(&mut self, space: Space) -> Parsed<Variable> {
        let mut variable = self.declarator(space)?;
        if self.take(b'=') {
            let mut init = Vec::new();
            let width = u8::try_from(self.element).unwrap_or(8);
            self.initialiser(width, &mut init)?;
            variable.init = Some(init);
        }
        self.mark(b';')?;
        Ok(variable)
    }

    pub(super) fn initialiser(&mut self, width: u8, out: &mut Vec<Init>) -> Parsed<()> {
        if self.take(b'{') {
            while !self.take(b'}') {
                self.initialiser(width, out)?;
                self.take(b',');
            }
            return Ok(());
        }
        let piece = match self.peek() {
            Some(Token::Word("generic")) => {
                self.at += 1;
                self.mark(b'(')?;
                let name = self.word()?.to_string();
                self.mark(b')')?;
                Init::Address(name, self.offset()?)
            }
            Some(Token::Word(name)) => {
                self.at += 1;
                Init::Address(name.to_string(), self.offset()?)
            }
            Some(Token::Single(bits)) => {
                self.at += 1;
                Init::Bytes(bits.into(), width)
            }
            Some(Token::Double(bits)) => {
                self.at += 1;
                Init::Bytes(bits, width)
            }
            _ => Init::Bytes(self.int()? as u64, width),
        };
        out.push(piece);
        Ok(())
    }

    pub(super) fn offset(&mut self) -> Parsed<i64> {
        if self.take(b'+') {
            return Ok(self.int()? as i64);
        }
        if self.peek() == Some(Token::Mark(b'-')) {
            return Ok(self.int()? as i64);
        }
        Ok(0)
    }

    /// Parses a declaration after its space, such as `.align 4 .b8 name[16]`.
    pub(super) fn declarator(&mut self, space: Space) -> Parsed<Variable> {
        let (mut align, mut element, mut lanes, mut managed) = (None, 0, 1, false);
        let name = loop {
            match self.word()? {
                ".align" => align = Some(self.int()? as u64),
                ".ptr" => {
                    // `.ptr .global .align 16` describes the pointee, not the parameter.
                    while let Some(Token::Word(w)) = self.peek() {
                        match w {
                            ".align" => {
                                self.at += 1;
                                self.int()?;
                            }
                            ".global" | ".shared" | ".const" | ".local" => self.at += 1,
                            _ => break,
                        }
                    }
                }
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                // `.attribute(.managed)`
                ".attribute" => {
                    while !self.take(b')') {
                        managed |= self.next()? == Token::Word(".managed");
                    }
                }
                ".managed" | ".unified" => {}
                word if word.starts_with('.') => {
                    element = type_bytes(word)
                        .or_else(|| if word == ".texref" { Some(8) } else { None })
                        .ok_or(format!("line {}: unknown type {word}", self.line()))?;
                }
                name => break name.to_string(),
            }
        };
        let (mut count, mut unsized_array) = (lanes, false);
        while self.take(b'[') {
            if self.take(b']') {
                unsized_array = true;
                count = 0;
            } else {
                count *= self.int()? as u64;
                self.mark(b']')?;
            }
        }
        self.element = element;
        Ok(Variable {
            common: false,
            name,
            space,
            size: element * count,
            align: align.unwrap_or((element * lanes).max(1)),
            init: None,
            unsized_array,
            managed,
            register: None,
        })
    }
}

pub(super) fn space(word: &str) -> Space {
    match word {
        ".global" => Space::Global,
        ".const" => Space::Const,
        ".shared" => Space::Shared,
        ".local" => Space::Local,
        _ => Space::Param,
    }
}

pub(super) fn type_bytes(word: &str) -> Option<u64> {
    Some(match word {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        ".b128" => 16,
        _ => return None,
    })
}
