/** Output of commands: tables, and failures that are reported in one line because they are no bugs. */
import { DatabaseError } from '#base';
import { StorageFailure } from '#storage';

/** Formats a text table: columns as wide as their cells, with two spaces between. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** Returns whether the person who runs the command can fix the cause: an address, a setting, the operating system. */
export function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  // Compared by name, because an error from the core thread loses its class; and every error of the operating system.
  return error instanceof DatabaseError || error.name === StorageFailure.name || 'syscall' in error;
}
