// Goal: scripts document each situation of the algorithm with its states and messages. Method: scripts in
// test/testdata/raft are replayed, with R1 to R12, R15 and R16 checked after every step, and the invariants of a group
// after every command. UPDATE=1 rewrites their answers.
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
