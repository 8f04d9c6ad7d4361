//! Parses the output of cuobjdump to instructions.

/// A machine instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub address: u64,
    /// The guard, such as `@!P0`; empty if there is none.
    pub guard: String,
    /// The opcode with all suffixes: `IMAD.WIDE.U32`.
    pub opcode: String,
    pub operands: String,
}

/// A function of a cubin.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub code: Vec<Instruction>,
}

/// The execution unit that an instruction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    Memory,
    Control,
    Special,
    Uniform,
    Multiply,
    Double,
    Alu,
}

impl Instruction {
    /// Returns the opcode without suffixes.
    pub fn base(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    pub fn is_global_load(&self) -> bool {
        self.opcode.starts_with("LDG") || self.opcode.starts_with("LD.")
    }

    pub fn is_global_store(&self) -> bool {
        self.opcode.starts_with("STG") || self.opcode.starts_with("ST.")
    }

    pub fn is_local(&self) -> bool {
        self.opcode.starts_with("LDL") || self.opcode.starts_with("STL")
    }

    /// Returns whether this computes or converts an `f64`.
    pub fn is_double(&self) -> bool {
        matches!(self.base(), "DADD" | "DMUL" | "DFMA" | "DSETP" | "DMNMX")
            || self.opcode.contains(".F64")
    }

    /// Returns the bytes moved by a memory access.
    pub fn width(&self) -> u32 {
        const SUFFIXES: [(&str, u32); 7] = [
            (".256", 32),
            (".128", 16),
            (".64", 8),
            (".U16", 2),
            (".S16", 2),
            (".U8", 1),
            (".S8", 1),
        ];
        SUFFIXES
            .iter()
            .find(|(suffix, _)| self.opcode.contains(suffix))
            .map_or(4, |&(_, bytes)| bytes)
    }

    pub fn pipe(&self) -> Pipe {
        match self.base() {
            _ if self.is_double() => Pipe::Double,
            "LDG" | "STG" | "LDS" | "STS" | "LDL" | "STL" | "LDC" | "LDCU" | "LD" | "ST"
            | "ATOMG" | "RED" | "CCTL" | "MEMBAR" | "SHFL" => Pipe::Memory,
            "BRA" | "EXIT" | "BSSY" | "BSYNC" | "BREAK" | "CALL" | "RET" | "WARPSYNC" | "NOP"
            | "BRX" | "YIELD" | "BAR" | "DEPBAR" | "BPT" => Pipe::Control,
            "S2R" | "S2UR" | "MUFU" | "I2F" | "F2I" | "I2I" | "FLO" | "POPC" | "CS2R" | "R2UR" => {
                Pipe::Special
            }
            "IMAD" | "FFMA" | "FMUL" | "FADD" | "IDP" | "HFMA2" | "HADD2" | "HMUL2" | "IMMA" => {
                Pipe::Multiply
            }
            base if base.starts_with('U') => Pipe::Uniform,
            _ => Pipe::Alu,
        }
    }

    /// Returns whether this is a true integer multiplication: moves, additions and shifts are written as IMAD too.
    /// Widening multiplications, which compute addresses, do not count.
    pub fn is_index_multiplication(&self) -> bool {
        if !matches!(self.base(), "IMAD" | "XMAD" | "UIMAD") {
            return false;
        }
        if self
            .opcode
            .split('.')
            .skip(1)
            .any(|suffix| matches!(suffix, "MOV" | "SHL" | "IADD" | "X" | "WIDE"))
        {
            return false;
        }
        let mut operands: Vec<&str> = self.operands.split(',').map(str::trim).collect();
        if operands.get(1).is_some_and(|&second| is_predicate(second)) {
            operands.remove(1);
        }
        let factors = operands.get(1..operands.len().min(3)).unwrap_or_default();
        !factors.iter().any(|factor| {
            factor.starts_with("RZ") || factor.starts_with("URZ") || is_power_of_two(factor)
        })
    }

    /// Returns whether control may also fall through, because of a guard or a predicate among a branch's operands.
    pub fn is_conditional(&self) -> bool {
        let guarded = !matches!(self.guard.as_str(), "" | "@PT");
        let first = self.operands.trim_start_matches('!');
        let first = first.strip_prefix('U').unwrap_or(first);
        // `BRA.DIV` is taken by a warp whose threads have diverged.
        guarded
            || self.opcode.contains(".DIV")
            || (first.starts_with('P')
                && first[1..].starts_with(|digit: char| digit.is_ascii_digit()))
    }

    /// Returns whether this is a branch. ptxas also leaves loops by a guarded call that never returns.
    pub fn is_branch(&self) -> bool {
        self.opcode.starts_with("BRA")
            || (self.opcode.starts_with("CALL.REL") && !self.guard.is_empty())
    }

    /// Returns the target address of a branch.
    pub fn target(&self) -> Option<u64> {
        let place = self.operands.rfind("0x")?;
        u64::from_str_radix(self.operands[place + 2..].trim_end_matches(')'), 16).ok()
    }
}

fn is_predicate(operand: &str) -> bool {
    operand.starts_with("PT")
        || (operand.starts_with('P')
            && operand[1..].starts_with(|digit: char| digit.is_ascii_digit()))
}

fn is_power_of_two(operand: &str) -> bool {
    let digits = operand.trim_start_matches('-').strip_prefix("0x");
    digits
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .is_some_and(|value| value.count_ones() <= 1)
}

/// Parses the output of `cuobjdump -sass`.
pub fn parse(text: &str) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    for line in text.lines() {
        if let Some((_, name)) = line.split_once("Function : ") {
            functions.push(Function { name: name.trim().to_owned(), code: Vec::new() });
        } else if let (Some(function), Some(instruction)) =
            (functions.last_mut(), parse_instruction(line))
        {
            function.code.push(instruction);
        }
    }
    functions
}

/// Parses a line such as `/*0070*/  @P0 BRA 0x2d0 ;  /* encoding */`.
fn parse_instruction(line: &str) -> Option<Instruction> {
    let (address, rest) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    if !(4..=6).contains(&address.len()) {
        return None;
    }
    let address = u64::from_str_radix(address, 16).ok()?;
    let mut text = rest.split_once(';')?.0.trim();
    let mut guard = "";
    if text.starts_with('@') {
        (guard, text) = text.split_once(char::is_whitespace)?;
    }
    let (opcode, operands) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    Some(Instruction {
        address,
        guard: guard.to_owned(),
        opcode: opcode.to_owned(),
        operands: operands.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(text: &str) -> Instruction {
        parse_instruction(&format!("        /*0070*/  {text} ;  /* 0x0 */")).unwrap()
    }

    #[test]
    fn lines_are_taken_apart() {
        let branch = instruction("@!P0 BRA 0x4f0");
        assert_eq!(
            (branch.guard.as_str(), branch.opcode.as_str(), branch.target()),
            ("@!P0", "BRA", Some(0x4f0))
        );
        assert!(branch.is_conditional());
        assert!(instruction("BRA.U UP0, 0x2d0").is_conditional());
        assert!(instruction("BRA.DIV ~URZ, 0x2d0").is_conditional());
        assert!(!instruction("BRA 0x2d0").is_conditional());
        assert!(instruction("@P0 CALL.REL.NOINC 0x1440").is_branch());
        assert!(!instruction("CALL.REL.NOINC 0x1440").is_branch());
        assert_eq!(instruction("LDG.E.128 R4, desc[UR4][R4.64]").width(), 16);
        assert_eq!(instruction("LDG.E.S8 R4, [R4.64]").width(), 1);
    }

    #[test]
    fn only_real_multiplications_count() {
        assert!(instruction("IMAD.HI.U32 R7, R6, UR9, RZ").is_index_multiplication());
        assert!(instruction("IMAD R7, R9, UR8, R6").is_index_multiplication());
        for text in [
            "IMAD.MOV.U32 R1, RZ, RZ, R2",
            "IMAD.SHL.U32 R2, R3, 0x10, RZ",
            "IMAD R0, R0, 0x100, R3",
            "IMAD.WIDE.U32 R2, R0, R5, R2",
            "IMAD.X R5, RZ, RZ, R7, P0",
        ] {
            assert!(!instruction(text).is_index_multiplication(), "{text}");
        }
    }
}
