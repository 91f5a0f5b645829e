// Goal: each situation of the algorithm reads as a document. Method: scripts in test/testdata/raft; every command is a
// step, and every invariant R1 to R8 is checked after every step. UPDATE=1 rewrites the answers.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runScript } from '../../support/datadriven.ts';
import { RaftScript } from '../../support/raft-script.ts';

const SCRIPTS = join(import.meta.dirname, '../../testdata/raft');

describe('raft script', () => {
  it.each(readdirSync(SCRIPTS).toSorted())('%s replays', (name) => {
    const script = new RaftScript();
    const { actual, expected } = runScript(join(SCRIPTS, name), (command) => script.answer(command));
    expect(actual).toBe(expected);
  });
});
