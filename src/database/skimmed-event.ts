/** One event of a transaction that is being indexed; the object is reused for the next transaction. */
import type { LiveHead } from './live-head.ts';
import type { PendingId } from './pending-ids.ts';

export interface SkimmedEvent {
  /** Place of its length in the array that was read. */
  offset: number;
  idStart: number;
  idEnd: number;
  source: LiveHead;
  stream: LiveHead;
  type: LiveHead;
  /** The head of its subject, or of "no subject". */
  subject: LiveHead;
  hasSubject: boolean;
  /** Effective time. */
  seconds: number;
  nanos: number;
  /** Its entry among the ids of this flush, and the id when it is not the one in the bytes: given a step later. */
  id: PendingId | undefined;
  storedId: string | undefined;
}
