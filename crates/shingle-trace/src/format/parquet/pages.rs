//! Checks pages before they are decoded: the crate allocates as many values as a dictionary claims
//! to have, before it looks for them.

use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};

/// The least size of a value in a dictionary, of the types that are read here.
const VALUE_BYTES_MIN: usize = 4;

/// The pages of a column chunk, each checked first.
pub(super) struct Pages(pub(super) Box<dyn PageReader>);

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.0.get_next_page()?;
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page
            && *num_values as usize > buf.len() / VALUE_BYTES_MIN
        {
            let message =
                format!("a dictionary of {} bytes says it has {num_values} values", buf.len());
            return Err(ParquetError::General(message));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.0.at_record_boundary()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
