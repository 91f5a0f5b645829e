// Goal: a script that no longer matches is seen, and UPDATE=1 rewrites nothing but answers. Method: scripts in a
// temporary folder, answered by a tiny calculator.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Command, type Replay, runScript } from '../../support/datadriven.ts';
import { testDir } from '../../support/test-scope.ts';

const SCRIPT = `# A story.
# It goes on.

add 1 2
----
3

# Why not.
add 1 by=2
----
by 2: 3
`;

afterEach(() => vi.unstubAllEnvs());

describe('runScript', () => {
  it('answers the same text when every answer is right', () => {
    const { expected, actual } = replay(SCRIPT);
    expect(actual).toBe(expected);
  });

  it('shows the right answer in the place of a wrong one', () => {
    const { expected, actual } = replay(SCRIPT.replace('\n3\n', '\n4\n5\n'));
    expect(expected).toContain('----\n4\n5\n');
    expect(actual).toBe(SCRIPT);
  });

  it('answers a command that has no answer yet', () => {
    expect(replay('add 2 2\n').actual).toBe('add 2 2\n----\n4\n');
  });

  it('leaves the file alone without UPDATE=1', () => {
    const path = script('add 2 2\n');
    runScript(path, calculate);
    expect(readFileSync(path, 'utf8')).toBe('add 2 2\n');
  });

  it('rewrites the answers in the file with UPDATE=1, and keeps comments and commands', () => {
    vi.stubEnv('UPDATE', '1');
    const path = script(SCRIPT.replace('\n3\n', '\n4\n'));
    const { expected, actual } = runScript(path, calculate);
    expect(actual).toBe(expected);
    expect(readFileSync(path, 'utf8')).toBe(SCRIPT);
  });

  it.each(['a\n\nb', '\na', 'a\n'])('refuses the answer %j, which the next run could not read', (answer) => {
    expect(() => runScript(script('add\n'), () => answer)).toThrow('The answer to "add" has an empty line');
  });

  it('hands over words and options apart, and keeps "=" inside a value', () => {
    const commands: Command[] = [];
    runScript(script('put  key a=b=c word\n'), (command) => {
      commands.push(command);
      return 'ok';
    });
    expect(commands).toEqual([{ name: 'put', words: ['key', 'word'], options: new Map([['a', 'b=c']]) }]);
  });
});

function calculate({ words, options }: Command): string {
  const by = options.get('by');
  const sum = [...words, by ?? 0].map(Number).reduce((total, next) => total + next, 0);
  return by === undefined ? `${sum}` : `by ${by}: ${sum}`;
}

function replay(text: string): Replay {
  return runScript(script(text), calculate);
}

function script(text: string): string {
  const path = testDir();
  writeFileSync(join(path, 'story.txt'), text);
  return join(path, 'story.txt');
}
