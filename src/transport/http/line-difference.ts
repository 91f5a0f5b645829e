/**
 * Compares two texts by line and writes a unified diff (diff -u). It is minimal, by Myers' greedy algorithm, unless the
 * texts are too long or differ too much; then all lines between the first and the last difference are replaced.
 *
 * The work is bounded by `LINES_MAX` times `CHANGES_MAX` comparisons of two lines, which take a few milliseconds.
 */

/** Lines of either text that the algorithm compares. */
const LINES_MAX = 4_000;
/** Added and removed lines that the algorithm searches for. */
const CHANGES_MAX = 250;
/** Unchanged lines around a difference. */
const CONTEXT = 3;

type Kind = ' ' | '-' | '+';
interface Step {
  readonly kind: Kind;
  readonly line: string;
}

/** Empty when the texts are equal. */
export function unifiedDifference(before: string, after: string): string {
  const steps = stepsBetween(before.split('\n'), after.split('\n'));
  return hunksOf(steps).flatMap(hunkLines).join('\n');
}

function stepsBetween(before: readonly string[], after: readonly string[]): readonly Step[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const own = [before, after].map((lines) => lines.slice(head, lines.length - tail));
  const [gone = [], come = []] = own;
  return [
    ...before.slice(0, head).map(kept),
    ...(fewest(gone, come) ?? [...gone.map((line) => step('-', line)), ...come.map((line) => step('+', line))]),
    ...before.slice(before.length - tail).map(kept),
  ];
}

function kept(line: string): Step {
  return step(' ', line);
}

function step(kind: Kind, line: string): Step {
  return { kind, line };
}

/** Undefined when the texts are too long or differ too much. */
function fewest(before: readonly string[], after: readonly string[]): readonly Step[] | undefined {
  if (before.length > LINES_MAX || after.length > LINES_MAX) return undefined;
  const rounds = roundsTo(before, after);
  return rounds === undefined ? undefined : stepsBack(before, after, rounds);
}

/**
 * The furthest line of `before` on each diagonal, for 0, 1, 2, … changes, until both ends are reached. On the diagonal
 * k the line in `before` is k after that in `after`; its element is k + changes.
 */
function roundsTo(before: readonly string[], after: readonly string[]): readonly (readonly number[])[] | undefined {
  const rounds: (readonly number[])[] = [];
  for (let changes = 0; changes <= CHANGES_MAX; changes++) {
    const last = rounds.at(-1) ?? [];
    const reached: number[] = [];
    for (let k = -changes; k <= changes; k += 2) {
      let x = changes === 0 ? 0 : comesDown(last, changes, k) ? at(last, changes, k + 1) : at(last, changes, k - 1) + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x++;
      reached[k + changes] = x;
      if (x >= before.length && x - k >= after.length) return [...rounds, reached];
    }
    rounds.push(reached);
  }
  return undefined;
}

/** The furthest line of the previous step on the diagonal; below all when it had none. */
function at(last: readonly number[], changes: number, k: number): number {
  return last[k + changes - 1] ?? -1;
}

/** Tells whether diagonal k is reached by inserting a line of `after`, not by deleting one of `before`. */
function comesDown(last: readonly number[], changes: number, k: number): boolean {
  return k === -changes || (k !== changes && at(last, changes, k - 1) < at(last, changes, k + 1));
}

function stepsBack(
  before: readonly string[],
  after: readonly string[],
  rounds: readonly (readonly number[])[],
): readonly Step[] {
  const steps: Step[] = [];
  let x = before.length;
  let y = after.length;
  for (let changes = rounds.length - 1; changes > 0; changes--) {
    const last = rounds[changes - 1] ?? [];
    const k = x - y;
    const isAdded = comesDown(last, changes, k);
    const fromX = at(last, changes, isAdded ? k + 1 : k - 1);
    const startX = isAdded ? fromX : fromX + 1;
    while (x > startX) steps.push(kept(before[--x] ?? ''));
    steps.push(isAdded ? step('+', after[fromX - k - 1] ?? '') : step('-', before[fromX] ?? ''));
    x = fromX;
    y = isAdded ? fromX - k - 1 : fromX - k + 1;
  }
  while (x > 0) steps.push(kept(before[--x] ?? ''));
  return steps.toReversed();
}

interface Hunk {
  /** Lines before it, in either text. */
  readonly beforeStart: number;
  readonly afterStart: number;
  readonly steps: readonly Step[];
}

/** Runs of changes with the lines around them. Adjacent runs are joined. */
function hunksOf(steps: readonly Step[]): readonly Hunk[] {
  const changed = steps.flatMap(({ kind }, place) => (kind === ' ' ? [] : [place]));
  const ranges: { from: number; to: number }[] = [];
  for (const place of changed) {
    const last = ranges.at(-1);
    const to = Math.min(place + CONTEXT + 1, steps.length);
    if (last !== undefined && place - CONTEXT <= last.to) last.to = to;
    else ranges.push({ from: Math.max(place - CONTEXT, 0), to });
  }
  return ranges.map(({ from, to }) => {
    const front = steps.slice(0, from);
    return {
      beforeStart: front.filter(({ kind }) => kind !== '+').length,
      afterStart: front.filter(({ kind }) => kind !== '-').length,
      steps: steps.slice(from, to),
    };
  });
}

function hunkLines({ beforeStart, afterStart, steps }: Hunk): readonly string[] {
  const own = (other: Kind): number => steps.filter(({ kind }) => kind !== other).length;
  const head = `@@ -${range(beforeStart, own('+'))} +${range(afterStart, own('-'))} @@`;
  return [head, ...steps.map(({ kind, line }) => `${kind}${line}`)];
}

/** A range as diff writes it: first line and count; for an empty range the line before it. */
function range(start: number, count: number): string {
  return `${count === 0 ? start : start + 1},${count}`;
}
