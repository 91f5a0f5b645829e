/** Runs commands, and their output: tables, and failures that are reported in one line because they are no bugs. */
import { DatabaseError, type Result } from '#base';
import { StorageFailure } from '#storage';
import { refuseUsage } from '../settings/option-faults.ts';

/** Exit code of a command that was refused, or got no answer; the reason is on stderr. */
export const EXIT_REFUSED = 1;

interface Command<Asked> {
  readonly name: string;
  readonly help: string;
  /** Returns one sentence per fault of the command line. */
  readonly read: (args: readonly string[]) => Result<Asked, readonly string[]>;
  readonly run: (asked: Asked) => Promise<number>;
}

export interface CommandPorts {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Runs a command, or prints its help. @returns the exit code */
export async function runCommandLine<Asked>(
  { name, help, read, run }: Command<Asked>,
  args: readonly string[],
  { out, err }: CommandPorts,
): Promise<number> {
  if (args.includes('--help') || args[0] === 'help') {
    out(help);
    return 0;
  }
  const asked = read(args);
  if (asked.kind === 'failure') return refuseUsage(name, asked.reason, err);
  try {
    return await run(asked.value);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    err(`cairn ${name}: ${error.message}\n`);
    return EXIT_REFUSED;
  }
}

/** The command is refused: its reason is on stderr, and the exit code is EXIT_REFUSED. */
export function refused(reason: string): DatabaseError {
  return new DatabaseError('unavailable', reason);
}

export interface ProgressPorts extends CommandPorts {
  readonly nowMs: () => number;
  /** Stderr is a terminal. */
  readonly isTerminal: boolean;
}

const PROGRESS_MS = 5_000;

/** Returns a function that writes its text to stderr at most every 5 s, and only if wanted or on a terminal. */
export function progressTo({ err, nowMs, isTerminal }: ProgressPorts, isWanted = false): (text: string) => void {
  let shownMs = nowMs();
  return (text) => {
    if (!(isWanted || isTerminal) || nowMs() - shownMs < PROGRESS_MS) return;
    shownMs = nowMs();
    err(`${text}\n`);
  };
}

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
