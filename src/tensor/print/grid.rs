//! Words in nested brackets, in lines of limited width.

/// How long a line may be.
const WIDTH: usize = 75;

/// What stands for elements that are not shown.
const ELLIPSIS: &str = "...";

/// Words, one per element that is shown, and how they are arranged.
pub(super) struct Grid<'a> {
    /// The shape of the tensor.
    pub(super) full: &'a [usize],
    /// The shape of what is shown of it: smaller in dimensions of which only the ends are.
    pub(super) shown: &'a [usize],
    pub(super) words: &'a [String],
}

impl Grid<'_> {
    /// The whole text.
    pub(super) fn text(&self) -> String {
        match self.words {
            [word] if self.shown.is_empty() => word.clone(),
            words => self.nested(0, words, " ", WIDTH),
        }
    }

    /// The part of the text that begins at an axis. Lines but the first begin with the indent.
    fn nested(&self, axis: usize, words: &[String], indent: &str, width: usize) -> String {
        let size = self.shown[axis];
        let gap = (size < self.full[axis]).then_some(size / 2);
        if axis + 1 == self.shown.len() {
            return row(words, gap, indent, width);
        }
        let inner_indent = format!("{indent} ");
        let mut parts: Vec<String> = words
            .chunks(words.len() / size)
            .map(|words| self.nested(axis + 1, words, &inner_indent, width - 1))
            .collect();
        if let Some(gap) = gap {
            parts.insert(gap, ELLIPSIS.into());
        }
        // The further out, the more empty lines there are in between.
        let separator = "\n".repeat(self.shown.len() - axis - 1) + indent;
        format!("[{}]", parts.join(&separator))
    }
}

/// The words of the last axis, in as many lines as it takes.
fn row(words: &[String], gap: Option<usize>, indent: &str, width: usize) -> String {
    let mut text = String::new();
    let mut line = indent.to_owned();
    let mut add = |word: &str| {
        let is_empty = line.len() <= indent.len();
        if !is_empty && line.len() + word.len() > width - 1 {
            text += line.trim_end();
            text.push('\n');
            line = indent.to_owned();
        }
        line += word;
        line.push(' ');
    };
    for (index, word) in words.iter().enumerate() {
        if gap == Some(index) {
            add(ELLIPSIS);
        }
        add(word);
    }
    // Every word was followed by a space; spaces that belong to the last word stay.
    line.pop();
    text += &line;
    format!("[{}]", &text[indent.len()..])
}
