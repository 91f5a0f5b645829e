/**
 * Verifies the rows of all databases of a running node (D26), and then its sealed segments, round after round.
 *
 * The rows of a database are read as of one moment, and until the last one is read, LevelDB keeps what was replaced
 * meanwhile. So they are read fast, and a pause follows. The first round has no such pause: what was damaged before the
 * start should be found soon, because a read may miss rows until then.
 */
import { DatabaseError, type GroupId } from '#base';
import { auditInUse, corruptRows, groupsWithRows, isCorruptRecord, unreadableIn } from '#database';
import { HistoryFault, type KvReader } from '#kv';
import { historiesIn, isStoreDamage, scrubSegments } from '#storage';
import { nativeSha256 } from '../system-ports.ts';

export interface ScrubPace {
  /** Bytes a second of rows, while those of one database are read. */
  readonly auditBytes: number;
  /** Bytes a second of rows on average; not in the first round. */
  readonly rowBytes: number;
  /** Bytes a second of segments. */
  readonly segmentBytes: number;
  /** From the start of a round to that of the next one, at least. */
  readonly roundMs: number;
  /** Until a segment with a fault is read again. */
  readonly repeatMs: number;
}

export interface Verified {
  /** Bytes since the last report. */
  readonly bytes: number;
  /** These bytes were the last ones of a round. */
  readonly isWholeRound: boolean;
}

/** A damaged segment: its fault, and the revisions that cannot be read. */
export interface DamagedSegment {
  readonly fault: HistoryFault;
  readonly revisions: readonly number[];
}

export interface ScrubPorts {
  readonly kv: KvReader;
  readonly storeDirectory: string;
  readonly pace: ScrubPace;
  readonly report: (verified: Verified) => void;
  /** Called in each round. */
  readonly damaged: (segment: DamagedSegment) => void;
  /** Resolves after this time; rejects when the scrub must end. */
  readonly pause: (delayMs: number) => Promise<void>;
}

const MS_PER_SECOND = 1000;
/** Time between two reports within a round. */
const REPORT_MS = 1000;

export class Scrub {
  readonly #ports: ScrubPorts;
  #bytes = 0;
  #reportedMs = 0;

  constructor(ports: ScrubPorts) {
    this.#ports = ports;
  }

  /**
   * Runs until a pause rejects.
   * @throws DatabaseError `CorruptRecord` or `StoreDamaged` at damage of rows
   */
  async run(): Promise<never> {
    const { pace, pause } = this.#ports;
    for (let isFirst = true; ; ) {
      const endMs = performance.now() + pace.roundMs;
      try {
        await this.#round(isFirst);
        isFirst = false;
      } catch (failure) {
        if (!isTemporary(failure)) throw failure;
      }
      await pause(Math.max(0, endMs - performance.now()));
    }
  }

  async #round(isFirst: boolean): Promise<void> {
    const { kv, storeDirectory, pace, pause, damaged } = this.#ports;
    for await (const group of groupsWithRows(kv)) await this.#audit(group, isFirst);
    for (const step of scrubSegments(historiesIn(storeDirectory))) {
      if (step === 'not-now') await pause(pace.repeatMs);
      else if (step instanceof HistoryFault) damaged({ fault: step, revisions: await this.#unreadable(step) });
      else await this.#read(step, pace.segmentBytes);
    }
    this.#report(true);
  }

  #unreadable({ group, range }: HistoryFault): Promise<readonly number[]> {
    return unreadableIn({ kv: this.#ports.kv, group, sha256: nativeSha256 }, range);
  }

  async #audit(group: GroupId, isFirst: boolean): Promise<void> {
    const { kv, pace, pause } = this.#ports;
    let restMs = 0;
    const fault = await auditInUse({ kv, group }, async (bytes) => {
      restMs += (bytes / pace.rowBytes - bytes / pace.auditBytes) * MS_PER_SECOND;
      await this.#read(bytes, pace.auditBytes);
    });
    if (fault !== undefined) throw corruptRows(group, fault);
    if (!isFirst) await pause(restMs);
  }

  async #read(bytes: number, rate: number): Promise<void> {
    this.#bytes += bytes;
    if (performance.now() - this.#reportedMs >= REPORT_MS) this.#report();
    await this.#ports.pause((bytes / rate) * MS_PER_SECOND);
  }

  #report(isWholeRound = false): void {
    this.#ports.report({ bytes: this.#bytes, isWholeRound });
    this.#bytes = 0;
    this.#reportedMs = performance.now();
  }
}

/** Returns true for a read that failed for a passing reason, such as no descriptors: the next round reads again. */
function isTemporary(failure: unknown): boolean {
  if (failure instanceof DatabaseError) return !isCorruptRecord(failure) && !isStoreDamage(failure);
  return failure instanceof Error && 'syscall' in failure;
}
