/**
 * A leader's view of the log of one other member, as a state machine.
 *
 *              ack                        gone from storage
 *   probe ------------> replicate ---------------------------> snapshot
 *     ^  <------------                                            |
 *     |   reject, loss                                            |
 *     +-----------------------------------------------------------+
 *                        sent, failed, or a later ack
 *
 *   probe      one message at a time, to find where the logs diverge
 *   replicate  a stream: entries are sent before earlier ones are acknowledged, within the window
 *   snapshot   nothing: a snapshot is being sent
 *
 * Only `transition` changes it, and it is total: a state or event that it does not handle does not compile.
 * Invariant (R12): match < next; entries in flight lie in (match, next) and inside the window.
 */
import { assert, type LogIndex, toLogIndex, unreachable } from '#base';

export interface Probe {
  readonly kind: 'probe';
  /** Highest index known to be durable at the member. Decreases only when the member denies it. */
  readonly match: LogIndex;
  /** The next entry to send. */
  readonly next: LogIndex;
  /** The condition for the next message. */
  readonly waitsFor: 'nothing' | 'answer' | 'storage';
}

export interface Replicate {
  readonly kind: 'replicate';
  readonly match: LogIndex;
  readonly next: LogIndex;
  /** Unacknowledged messages with entries, oldest first. */
  readonly inFlight: readonly InFlight[];
  readonly inFlightBytes: number;
  readonly waitsFor: 'nothing' | 'storage';
}

export interface SnapshotUnderWay {
  readonly kind: 'snapshot';
  readonly match: LogIndex;
  readonly next: LogIndex;
  /** An acknowledgement at or above this ends the snapshot: the member has caught up. */
  readonly least: LogIndex;
}

/** An unacknowledged message. */
interface InFlight {
  /** Its last entry. */
  readonly last: LogIndex;
  readonly bytes: number;
}

export type Progress = Probe | Replicate | SnapshotUnderWay;

export interface Window {
  readonly inFlightMessagesMax: number;
  readonly inFlightBytesMax: number;
}

export type ProgressEvent =
  /** An append with entries up to `last` was sent. */
  | { readonly kind: 'sent'; readonly last: LogIndex; readonly bytes: number }
  /** An append without entries was sent. */
  | { readonly kind: 'asked' }
  /** Entries were requested from storage; they arrived; they no longer exist. */
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded' }
  | { readonly kind: 'gone'; readonly least: LogIndex }
  | { readonly kind: 'acknowledged'; readonly match: LogIndex }
  /** `previous` of an append was missing; the logs agree up to `agreed` at most. */
  | { readonly kind: 'rejected'; readonly previous: LogIndex; readonly agreed: LogIndex }
  | { readonly kind: 'beat-acknowledged' }
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'snapshot-sent'; readonly index: LogIndex }
  | { readonly kind: 'snapshot-failed' };

/** A new member: the first guess is that it has the whole log. */
export function unknownProgress(next: LogIndex): Progress {
  return { kind: 'probe', match: toLogIndex(0), next, waitsFor: 'nothing' };
}

/** Returns true when an append with entries may be sent now. */
export function maySend(progress: Progress, window: Window): boolean {
  switch (progress.kind) {
    case 'probe':
      return progress.waitsFor === 'nothing';
    case 'replicate':
      return (
        progress.waitsFor === 'nothing' &&
        progress.inFlight.length < window.inFlightMessagesMax &&
        progress.inFlightBytes < window.inFlightBytesMax
      );
    case 'snapshot':
      return false;
    default:
      return unreachable(progress);
  }
}

export function transition(progress: Progress, event: ProgressEvent): Progress {
  switch (progress.kind) {
    case 'probe':
      return probing(progress, event);
    case 'replicate':
      return replicating(progress, event);
    case 'snapshot':
      return sendingSnapshot(progress, event);
    default:
      return unreachable(progress);
  }
}

function probing(progress: Probe, event: ProgressEvent): Progress {
  const { match, next } = progress;
  switch (event.kind) {
    case 'sent':
    case 'asked':
      return { ...progress, waitsFor: 'answer' };
    case 'loading':
      return { ...progress, waitsFor: 'storage' };
    case 'loaded':
      return { ...progress, waitsFor: 'nothing' };
    case 'gone':
      return { kind: 'snapshot', match, next, least: event.least };
    case 'acknowledged':
      // A stale answer does not tell where the logs diverge now.
      return event.match < match ? progress : stream(event.match);
    case 'rejected': {
      if (event.previous !== next - 1 || progress.waitsFor === 'storage') return progress;
      const agreed = Math.min(event.agreed, event.previous - 1);
      // The member has lost an acknowledged entry: its disk was restored, so its match index is reset.
      const left = event.previous === match ? toLogIndex(0) : match;
      return { ...progress, match: left, next: toLogIndex(Math.max(agreed, left) + 1), waitsFor: 'nothing' };
    }
    case 'beat-acknowledged':
      // The member is active but has not answered: the message or its answer was lost.
      return progress.waitsFor === 'answer' ? { ...progress, waitsFor: 'nothing' } : progress;
    case 'unreachable':
    case 'snapshot-sent':
    case 'snapshot-failed':
      return progress;
    default:
      return unreachable(event);
  }
}

function replicating(progress: Replicate, event: ProgressEvent): Progress {
  const { match, next } = progress;
  switch (event.kind) {
    case 'sent': {
      const { last, bytes } = event;
      const inFlight = [...progress.inFlight, { last, bytes }];
      return {
        ...progress,
        next: toLogIndex(Math.max(next, last + 1)),
        inFlight,
        inFlightBytes: progress.inFlightBytes + bytes,
      };
    }
    case 'asked':
    case 'beat-acknowledged':
    case 'snapshot-sent':
    case 'snapshot-failed':
      return progress;
    case 'loading':
      return { ...progress, waitsFor: 'storage' };
    case 'loaded':
      return { ...progress, waitsFor: 'nothing' };
    case 'gone':
      return { kind: 'snapshot', match, next: toLogIndex(match + 1), least: event.least };
    case 'acknowledged':
      return event.match <= match ? progress : withMatch(progress, event.match);
    case 'rejected':
      return event.previous < match ? progress : probeFrom(match);
    case 'unreachable':
      return probeFrom(match);
    default:
      return unreachable(event);
  }
}

function sendingSnapshot(progress: SnapshotUnderWay, event: ProgressEvent): Progress {
  const { match, next, least } = progress;
  switch (event.kind) {
    case 'sent':
    case 'asked':
    case 'loading':
      assert(false, 'R12: nothing is sent while a snapshot is on its way', progress);
      return progress;
    case 'acknowledged':
      if (event.match < match) return progress;
      if (event.match >= least) return stream(event.match);
      return { ...progress, match: event.match, next: toLogIndex(Math.max(next, event.match + 1)) };
    case 'snapshot-sent': {
      // Sent does not mean installed: the next append waits for an answer, or for a heartbeat.
      const after = toLogIndex(Math.max(match, event.index) + 1);
      return { kind: 'probe', match, next: after, waitsFor: 'answer' };
    }
    case 'snapshot-failed':
      return { kind: 'probe', match, next: toLogIndex(match + 1), waitsFor: 'answer' };
    case 'loaded':
    case 'gone':
    case 'rejected':
    case 'beat-acknowledged':
    case 'unreachable':
      return progress;
    default:
      return unreachable(event);
  }
}

/** A stream that starts after `match`. */
function stream(match: LogIndex): Replicate {
  return { kind: 'replicate', match, next: toLogIndex(match + 1), inFlight: [], inFlightBytes: 0, waitsFor: 'nothing' };
}

function probeFrom(match: LogIndex): Probe {
  return { kind: 'probe', match, next: toLogIndex(match + 1), waitsFor: 'nothing' };
}

function withMatch(progress: Replicate, match: LogIndex): Replicate {
  const answered = progress.inFlight.filter(({ last }) => last <= match);
  const freed = answered.reduce((bytes, message) => bytes + message.bytes, 0);
  return {
    ...progress,
    match,
    next: toLogIndex(Math.max(progress.next, match + 1)),
    inFlight: progress.inFlight.filter(({ last }) => last > match),
    inFlightBytes: progress.inFlightBytes - freed,
  };
}
