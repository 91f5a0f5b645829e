/** What a run can have beside what its seed says; each is an option of the command line. */
export interface Modes {
  /** Several nodes: traps and no other faults; one: faults that aim at its next start; absent: by the seed. */
  readonly aimed?: boolean | undefined;
  /** Whether nodes reach each other by the real lanes, over simulated sockets; otherwise each frame travels alone. */
  readonly lanes?: boolean | undefined;
  /** Whether somebody defines, changes and deletes components. */
  readonly definitions?: boolean | undefined;
  /** Whether events have effective times, and clients ask by them and by recorded times. */
  readonly times?: boolean | undefined;
  /** Whether stores lose what they wrote last, synced or not, and logs a segment. */
  readonly cuts?: boolean | undefined;
  /** Whether the volume of one of three nodes is put back to an earlier copy, and nothing else happens. */
  readonly restored?: boolean | undefined;
  /** Whether the invariants of #raft are not checked after every step, for whoever asks what they cost. */
  readonly unchecked?: boolean | undefined;
}

export const MODES: readonly (keyof Modes)[] = [
  'aimed',
  'lanes',
  'definitions',
  'times',
  'cuts',
  'restored',
  'unchecked',
];
