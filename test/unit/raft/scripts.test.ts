// Goal: each situation of the algorithm reads as a document. Method: scripts in test/testdata/raft; R1 to R12, R15 and
// R16 after every step, those of a group after every command. UPDATE=1 rewrites them.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runScript } from '../../support/datadriven.ts';
import { GroupScript } from '../../support/raft/group-script.ts';
import { ReplicaScript } from '../../support/raft/replica-script.ts';

const SCRIPTS = join(import.meta.dirname, '../../testdata/raft');

function scriptsIn(folder: string): readonly string[] {
  return readdirSync(join(SCRIPTS, folder)).toSorted();
}

describe.each([
  ['replica', ReplicaScript],
  ['group', GroupScript],
] as const)('script of a %s', (folder, Script) => {
  it.each(scriptsIn(folder))('%s replays', (name) => {
    const script = new Script();
    const { actual, expected } = runScript(join(SCRIPTS, folder, name), (command) => script.answer(command));
    expect(actual).toBe(expected);
  });
});
