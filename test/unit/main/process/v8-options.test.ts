// Goal: a node runs with its V8 options however it was started, and with those of the command line that started it.
// Method: the choice of options as a function; a real process, asked for its command line.
import { expect, test } from 'vitest';
import { lackingV8Options } from '../../../../src/main/process/v8-options.ts';

test('options that were given stay as they are', () => {
  expect(lackingV8Options(['--conditions=source'])).toHaveLength(6);
  const given = ['--max_semi_space_size=64', '--heap-growing-percent=10', '--allocation-site-pretenuring'];
  expect(lackingV8Options([...given, '--async-context-frame', '--v8-pool-size=3'])).toEqual([
    expect.stringMatching(/^--initial-old-space-size=\d+$/),
  ]);
  expect(lackingV8Options(lackingV8Options([]))).toEqual([]);
});
