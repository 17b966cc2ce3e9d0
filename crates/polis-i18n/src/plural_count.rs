//! Numbers by which a message selects its text: "1 file", "2 files".

use std::fmt::Display;

/// A whole number by which a message selects its text.
pub trait PluralCount: Display {
    /// Returns the number.
    fn number(&self) -> i128;
}

impl<Count: PluralCount + ?Sized> PluralCount for &Count {
    fn number(&self) -> i128 {
        (**self).number()
    }
}

macro_rules! impl_plural_count {
    ($($integer:ty),*) => {$(
        impl PluralCount for $integer {
            fn number(&self) -> i128 {
                *self as i128
            }
        }
    )*};
}

impl_plural_count!(i32, i64, u8, u16, u32, u64, usize);
