/** What ends a command: a command line that means nothing, or work that cannot be done. */

/** Exit code 2. */
export class UsageError extends Error {}

/** Exit code 1. The message says what would be right. */
export class ToolError extends Error {}

/** What something that was thrown says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
