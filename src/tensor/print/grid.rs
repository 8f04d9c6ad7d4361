//! Layout of formatted elements ("words") in nested brackets, with lines of limited width.

/// The maximum length of a line.
const WIDTH: usize = 75;

/// The replacement for elements that are not shown.
const ELLIPSIS: &str = "...";

/// The words, one per element that is shown, and their arrangement.
pub(super) struct Grid<'a> {
    /// The shape of the tensor.
    pub(super) full: &'a [usize],
    /// The shape of the elements that are shown, which is smaller in abbreviated dimensions.
    pub(super) shown: &'a [usize],
    pub(super) words: &'a [String],
}

impl Grid<'_> {
    /// Returns the complete text.
    pub(super) fn text(&self) -> String {
        match self.words {
            [word] if self.shown.is_empty() => word.clone(),
            words => self.nested(0, words, " ", WIDTH),
        }
    }

    /// Returns the text of the dimensions from `axis` on. All lines except the first begin with the indent.
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
        // Outer dimensions are separated by more empty lines than inner ones.
        let separator = "\n".repeat(self.shown.len() - axis - 1) + indent;
        format!("[{}]", parts.join(&separator))
    }
}

/// Formats the words of the last axis in as many lines as needed.
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
    // Removes the separator after the last word, but not the spaces that pad the word.
    line.pop();
    text += &line;
    format!("[{}]", &text[indent.len()..])
}
