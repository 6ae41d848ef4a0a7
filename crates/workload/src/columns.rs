//! Tables that are filled row by row and written as Arrow IPC files.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::ArrayBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

/// Makes a table from what a row is made of: its columns with their builders, whether they may hold nothing, and the value
/// in a row or nothing.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $name:ident($($given:ident: $kind:ty),*) { $($column:ident: $builder:ty, $nullable:literal, $value:expr;)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name {
            $($column: $builder,)*
            rows: usize,
        }

        impl $name {
            /// An empty table.
            pub fn new() -> Self {
                Self::default()
            }

            /// Adds a row; `flow` is the flow's place in the run.
            pub fn push(&mut self, $($given: $kind),*) {
                $(self.$column.append_option($value);)*
                self.rows += 1;
            }

            /// Whether nothing was added.
            pub fn is_empty(&self) -> bool {
                self.rows == 0
            }

            /// Writes everything as an Arrow IPC file and empties the table.
            ///
            /// # Errors
            /// The file could not be written.
            pub fn write(&mut self, path: &std::path::Path) -> Result<(), arrow_schema::ArrowError> {
                self.rows = 0;
                $crate::columns::write_file(path, vec![
                    $($crate::columns::column(stringify!($column), $nullable, &mut self.$column),)*
                ])
            }
        }
    };
}

/// A column of what `builder` has collected, which it has no more.
pub fn column(name: &str, nullable: bool, builder: &mut dyn ArrayBuilder) -> (Field, ArrayRef) {
    let array = builder.finish();
    let kind: DataType = array.data_type().clone();
    (Field::new(name, kind, nullable), array)
}

/// Writes columns of one length as an Arrow IPC file.
///
/// # Errors
/// The file could not be written.
pub fn write_file(path: &Path, columns: Vec<(Field, ArrayRef)>) -> Result<(), ArrowError> {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
    let file = File::create(path).map_err(|e| ArrowError::IoError(format!("{}: {e}", path.display()), e))?;
    let mut writer = FileWriter::try_new(BufWriter::new(file), &schema)?;
    writer.write(&batch)?;
    writer.finish()
}
