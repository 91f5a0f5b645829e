/** Progress of the import: one line that rewrites itself on a terminal, and a line now and then elsewhere. */

export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export interface Done {
  readonly commits: number;
  readonly events: number;
  /** Number of events that were not stored before. */
  readonly written: number;
}

export class Progress {
  readonly #output: ProgressOutput;
  readonly #total: number;
  readonly #startedMs: number;
  #shownMs = 0;

  constructor(output: ProgressOutput, total: number, nowMs: number) {
    this.#output = output;
    this.#total = total;
    this.#startedMs = nowMs;
  }

  show(done: Done, nowMs: number): void {
    const finished = done.commits === this.#total;
    const everyMs = this.#output.isTTY === true ? 100 : 5000;
    if (!finished && nowMs - this.#shownMs < everyMs) return;
    this.#shownMs = nowMs;
    const seconds = Math.max(0.001, (nowMs - this.#startedMs) / 1000);
    const share = this.#total === 0 ? 100 : Math.floor((done.commits / this.#total) * 100);
    const line = `${share} %  ${done.commits}/${this.#total} commits, ${done.events} events, ${Math.round(done.written / seconds)} events/s`;
    if (this.#output.isTTY === true) this.#output.write(`\r\x1b[2K${line}${finished ? '\n' : ''}`);
    else this.#output.write(`${line}\n`);
  }
}
