/** Compares two texts by line, as `diff -u` does. */
import { type StructuredPatchHunk, structuredPatch } from 'diff';

/** Added and removed lines up to which the difference is minimal. Bounds the work to some milliseconds. */
const CHANGES_MAX = 250;

/** Hunks of a unified diff with three lines of context; empty when the texts are equal. */
export function unifiedDifference(before: string, after: string): string {
  // Texts that end with a line break have no hint that it is missing.
  const found = structuredPatch('', '', `${before}\n`, `${after}\n`, '', '', {
    context: 3,
    maxEditLength: CHANGES_MAX,
  });
  return (found?.hunks ?? [replacement(before.split('\n'), after.split('\n'))]).map(hunkText).join('\n');
}

function replacement(before: readonly string[], after: readonly string[]): StructuredPatchHunk {
  const lines = [...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)];
  return { oldStart: 1, oldLines: before.length, newStart: 1, newLines: after.length, lines };
}

function hunkText({ oldStart, oldLines, newStart, newLines, lines }: StructuredPatchHunk): string {
  return [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join('\n');
}
