// Goal: a difference between a script and its answers is found, and UPDATE=1 rewrites only the answers. Method: scripts
// in a temporary folder, answered by a small calculator.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Command, runScript } from '../../support/datadriven.ts';
import { testDir } from '../../support/test-scope.ts';

const SCRIPT = '# A story.\n# More.\n\nadd 1 2\n----\n3\n\n# Why not.\nadd 1 by=2\n----\nby 2: 3\n';
const WRONG = SCRIPT.replace('\n3\n', '\n4\n5\n');

afterEach(() => vi.unstubAllEnvs());

describe('runScript', () => {
  it('returns the same text when every answer is right, and otherwise the text with the right answers', () => {
    expect(runScript(script(SCRIPT), calculate)).toEqual({ expected: SCRIPT, actual: SCRIPT });
    expect(runScript(script(WRONG), calculate)).toEqual({ expected: WRONG, actual: SCRIPT });
    expect(runScript(script('add 2 2\n'), calculate).actual).toBe('add 2 2\n----\n4\n');
  });

  it('omits the answer "nothing", and shows an answer of a command that another command follows', () => {
    const answer = ({ name }: Command): string => (name === 'say' ? 'word' : 'nothing');
    const quiet = '# Why.\nwrite\nwrite\nsay\n----\nword\n\nwrite\n';
    expect(runScript(script(quiet), answer)).toEqual({ expected: quiet, actual: quiet });
    expect(runScript(script('say\nwrite\n'), answer).actual).toBe('say\n----\nword\n\nwrite\n');
    expect(runScript(script('write\n----\nword\n'), answer).actual).toBe('write\n');
  });

  it('rewrites the answers in the file only with UPDATE=1, and keeps comments and commands', () => {
    const path = script(WRONG);
    runScript(path, calculate);
    expect(readFileSync(path, 'utf8')).toBe(WRONG);
    vi.stubEnv('UPDATE', '1');
    const { expected, actual } = runScript(path, calculate);
    expect([actual, readFileSync(path, 'utf8')]).toEqual([expected, SCRIPT]);
  });

  it.each(['a\n\nb', '\na', 'a\n'])('rejects the answer %j, which the next run could not read', (answer) => {
    expect(() => runScript(script('add\n'), () => answer)).toThrow('The answer to "add" has an empty line');
  });

  it('separates words from options, and keeps "=" inside a value', () => {
    const commands: Command[] = [];
    runScript(script('put  key a=b=c word\n'), (command) => (commands.push(command), 'ok'));
    expect(commands).toEqual([{ name: 'put', words: ['key', 'word'], options: new Map([['a', 'b=c']]) }]);
  });
});

function calculate({ words, options }: Command): string {
  const by = options.get('by');
  const sum = [...words, by ?? 0].map(Number).reduce((total, next) => total + next, 0);
  return by === undefined ? `${sum}` : `by ${by}: ${sum}`;
}

function script(text: string): string {
  const path = join(testDir(), 'story.txt');
  writeFileSync(path, text);
  return path;
}
