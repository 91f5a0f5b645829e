/** Errors that end a command: a malformed command line, or a failed task. */

/** Exit code 2. */
export class UsageError extends Error {}

/** Exit code 1. The message tells how to fix it. */
export class ToolError extends Error {}

/** Message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
