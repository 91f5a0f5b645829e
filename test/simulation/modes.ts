/** Modes of a run in addition to its seed; each is an option of the command line. */
export interface Modes {
  /** With several nodes: only traps. With one: faults that affect its next start. Absent: determined by the seed. */
  readonly aimed?: boolean | undefined;
  /** Nodes use the real lanes over simulated sockets; otherwise each frame is sent separately. */
  readonly lanes?: boolean | undefined;
  /** Clients define, change and delete components. */
  readonly definitions?: boolean | undefined;
  /** Events have effective times, and clients read by them and by recorded times. */
  readonly times?: boolean | undefined;
  /** Stores lose their last writes, rows of databases or bits of a history; and logs lose a segment. */
  readonly cuts?: boolean | undefined;
  /** An operator changes the copies of databases, scrubs find damage, and more clusters have learners. */
  readonly resized?: boolean | undefined;
  /** The volume of one of three nodes is restored to an earlier copy, and nothing else happens. */
  readonly restored?: boolean | undefined;
  /** The invariants of #raft are not checked after every step, to measure their cost. */
  readonly unchecked?: boolean | undefined;
}

export const MODES: readonly (keyof Modes)[] = [
  'aimed',
  'lanes',
  'definitions',
  'times',
  'cuts',
  'resized',
  'restored',
  'unchecked',
];
