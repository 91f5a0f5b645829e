// Data-driven tests: a script is a text file of commands, each followed by its expected answer.
//
//   # A comment, kept as it is.
//   command word key=value
//   ----
//   the answer, up to the next empty line
//
// A command with the answer `nothing` has neither rule nor answer, and the next command may follow directly. An answer
// contains no empty line. The runner executes the commands and compares the whole file. With UPDATE=1 in the
// environment it rewrites the file; commit the difference only if you can explain each changed line.
import { readFileSync, writeFileSync } from 'node:fs';

export interface Command {
  readonly name: string;
  /** Words after the name that are not `key=value`. */
  readonly words: readonly string[];
  readonly options: ReadonlyMap<string, string>;
}

const RULE = '----';
const NOTHING = 'nothing';

/** The content of the script, and the content with actual answers; a test expects them to be equal. */
export interface Replay {
  readonly expected: string;
  readonly actual: string;
}

/** Runs the script in `path`; `answer` returns the answer to a command, without a trailing line break. */
export function runScript(path: string, answer: (command: Command) => string): Replay {
  const expected = readFileSync(path, 'utf8');
  const actual = `${expected
    .trimEnd()
    .split(/\n{2,}/)
    .map((block) => replay(block, answer))
    .join('\n\n')}\n`;
  if (process.env['UPDATE'] !== '1') return { expected, actual };
  writeFileSync(path, actual);
  return { expected: actual, actual };
}

/** A block consists of comments and commands; the last command may have a rule and an old answer. */
function replay(block: string, answer: (command: Command) => string): string {
  const lines = block.split('\n');
  const comments = lines.findIndex((line) => !line.startsWith('#'));
  if (comments === -1) return block;
  const rule = lines.indexOf(RULE);
  const commands = lines.slice(comments, rule === -1 ? lines.length : rule);
  const replayed = commands.map((line, at) => {
    const answered = answer(parse(line));
    if (answered === NOTHING) return line;
    if (/\n\n|^\n|\n$/.test(answered)) throw new Error(`The answer to "${line}" has an empty line, which would end it`);
    return `${line}\n${RULE}\n${answered}${at < commands.length - 1 ? '\n' : ''}`;
  });
  return [...lines.slice(0, comments), ...replayed].join('\n');
}

function parse(line: string): Command {
  const [name = '', ...rest] = line.split(/\s+/);
  const options = rest.filter((word) => word.includes('='));
  return {
    name,
    words: rest.filter((word) => !word.includes('=')),
    options: new Map(options.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)])),
  };
}
