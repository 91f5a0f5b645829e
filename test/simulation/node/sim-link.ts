// The link between the front of a simulated node and its core: messages are packed, transferred and unpacked by the
// real code (command-message.ts, report-message.ts), with a random delay in each direction.
import type { CoreRuntime } from '#cluster';
import type { DiskLevel } from '#storage';
import type { Commands, CoreLink, Report } from '../../../src/cluster/link.ts';
import { commandTransfers, packCommands, unpackCommands } from '../../../src/cluster/thread/command-message.ts';
import { packReport, unpackReport } from '../../../src/cluster/thread/report-message.ts';
import type { Isolate } from '../engine/isolate.ts';
import { posted } from './posted.ts';

export interface SimLinkParts {
  readonly core: CoreRuntime;
  readonly coreThread: Isolate;
  readonly front: Isolate;
  readonly latencyUs: () => number;
  /** Called in the core's thread before the core drains. */
  readonly beforeDrain: () => void;
  /** Called in the core's thread after the core has drained. */
  readonly close: () => Promise<void>;
}

export class SimLink implements CoreLink {
  readonly #parts: SimLinkParts;
  readonly #toCore: (label: string, work: () => void) => void;
  readonly #toFront: (label: string, work: () => void) => void;
  #onReport: (report: Report) => void = () => undefined;

  constructor(parts: SimLinkParts) {
    const { core, coreThread, front, latencyUs } = parts;
    this.#parts = parts;
    this.#toCore = front.channelTo(coreThread, latencyUs);
    this.#toFront = coreThread.channelTo(front, latencyUs);
    core.onReport((report) => {
      const message = posted(packReport(report));
      this.#toFront('report', () => this.#onReport(unpackReport(message)));
    });
  }

  /** Models memory that both threads share. */
  get isAlone(): boolean {
    return this.#parts.core.isAlone;
  }

  send(commands: Commands): void {
    const packed = packCommands(commands);
    const message = posted(packed, commandTransfers(packed));
    this.#toCore('commands', () => this.#parts.core.send(unpackCommands(message)));
  }

  onReport(listener: (report: Report) => void): void {
    this.#onReport = listener;
  }

  reportDisk(level: DiskLevel): void {
    this.#toCore('disk level', () => this.#parts.core.reportDisk(level));
  }

  runs(digest: string): void {
    this.#toCore('component', () => this.#parts.core.runs(digest));
  }

  async leave(withinMs: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#toCore('leave', () => {
        this.#parts.core.leave(withinMs).then(() => this.#toFront('left', resolve), reject);
      });
    });
  }

  async drain(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#toCore('drain', () => {
        this.#drainCore().then(() => this.#toFront('drained', resolve), reject);
      });
    });
  }

  async #drainCore(): Promise<void> {
    this.#parts.beforeDrain();
    await this.#parts.core.drain();
    await this.#parts.close();
  }
}
