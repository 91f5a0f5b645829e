/**
 * The file of an export in lines. It continues after its last whole line, and completes a line that a failure has cut.
 * Bytes are written where they belong, not appended: several exports of one database to one file write the same ones.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type Position, parseJson, RAW_DATA } from '#model';
import { refused } from '../../process/refusals.ts';
import { type EventLine, LINE_BREAK, LINE_BYTES_MAX, positionOf, textOf } from './event-lines.ts';

/** Every event begins with it. */
const BEGIN = '{"id":';

/** Receives the events of an export, page by page. */
export interface ExportTarget extends AsyncDisposable {
  /** The events begin after it. */
  readonly last?: LastLine | undefined;
  append(lines: readonly EventLine[]): Promise<void>;
  /** Called once, after the last page. */
  finish(): Promise<void>;
}

export interface LastLine {
  readonly text: string;
  readonly position: Position;
}

export class LinesFile implements ExportTarget {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly last: LastLine | undefined;
  /** The end of the last whole line, and what follows it. */
  #end: number;
  #cut: Uint8Array;

  /** @throws DatabaseError: the file has something else than an export */
  static async open(path: string): Promise<LinesFile> {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT);
    try {
      const { size } = await file.stat();
      const length = Math.min(size, 2 * LINE_BYTES_MAX);
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return new LinesFile(file, path, { buffer, start: size - length });
    } catch (failure) {
      await file.close();
      throw failure;
    }
  }

  private constructor(file: FileHandle, path: string, { buffer, start }: { buffer: Buffer; start: number }) {
    this.#file = file;
    this.#path = path;
    const end = buffer.lastIndexOf(LINE_BREAK) + 1;
    const lines = buffer.subarray(0, Math.max(0, end - 1));
    const line = lines.subarray(lines.lastIndexOf(LINE_BREAK) + 1);
    const node = parseJson(line, { raw: RAW_DATA });
    const position = node.kind === 'fault' ? undefined : positionOf(node);
    const isWhole = end === 0 ? start === 0 : position !== undefined;
    this.#end = start + end;
    this.#cut = buffer.subarray(end);
    if (!isWhole || !BEGIN.startsWith(buffer.subarray(end, end + BEGIN.length).toString())) throw this.#isOther();
    this.last = position && { text: line.toString(), position };
  }

  async append(lines: readonly EventLine[]): Promise<void> {
    const bytes = Buffer.from(lines.map((line) => `${textOf(line)}\n`).join(''));
    if (bytes.length === 0) return;
    if (!bytes.subarray(0, this.#cut.length).equals(this.#cut)) throw this.#isOther();
    this.#cut = bytes.subarray(0, 0);
    for (let done = 0; done < bytes.length; ) {
      done += (await this.#file.write(bytes, done, bytes.length - done, this.#end + done)).bytesWritten;
    }
    this.#end += bytes.length;
  }

  async finish(): Promise<void> {
    if (this.#cut.length > 0) throw this.#isOther();
    await this.#file.sync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  #isOther(): Error {
    return refused(`${this.#path} has something else than an export; name another file`);
  }
}
