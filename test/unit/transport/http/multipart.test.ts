// Goal: multipart bodies are parsed to parts or one fault, without blocking the event loop (TH11). Method: large parts
// of text that resembles boundaries.
import { describe, expect, it } from 'vitest';
import type { DatabaseError } from '#base';
import { readParts } from '../../../../src/transport/http/multipart.ts';
import type { HttpRequest } from '../../../../src/transport/http/request.ts';

const MIB = 2 ** 20;

function requestOf(body: Uint8Array): Pick<HttpRequest, 'header' | 'body'> {
  const header = (name: string): string | undefined =>
    name === 'content-type' ? 'multipart/form-data; boundary=b' : undefined;
  return { header, body: () => body };
}

function read(body: Uint8Array): Promise<ReadonlyMap<string, Uint8Array>> {
  return readParts(requestOf(body) as HttpRequest, ['metadata', 'wasm']);
}

function part(name: string, content: Uint8Array | string): Uint8Array {
  const head = Buffer.from(`--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`);
  return Buffer.concat([head, Buffer.from(content), Buffer.from('\r\n')]);
}

const END = Buffer.from('--b--\r\n');

async function turnsDuring<Value>(work: Promise<Value>): Promise<{ readonly value: Value; readonly turns: number }> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const value = await work;
  isOver = true;
  return { value, turns };
}

describe('a body of several parts', () => {
  it.each([
    ['carriage returns', '\r'],
    ['beginnings of a boundary', '\r\n--'],
    ['boundaries of another kind', '\r\n--c\r\n'],
    ['zeros', '\0'],
  ])('returns a part that consists of %s, and yields to the event loop', async (_what, text) => {
    const content = Buffer.alloc(4 * MIB, text);
    const { value, turns } = await turnsDuring(
      read(Buffer.concat([part('metadata', '{}'), part('wasm', content), END])),
    );
    expect(Buffer.compare(value.get('wasm') ?? Buffer.alloc(0), content)).toBe(0);
    expect(value.get('metadata')).toEqual(Buffer.from('{}'));
    expect(turns).toBeGreaterThanOrEqual(1024);
  });

  it('copies no part, for any position of boundaries and their prefixes', async () => {
    for (const text of ['\r\n--', '\r\n--c', '-', 'x']) {
      for (let length = 8_150; length < 8_210; length++) {
        const content = Buffer.alloc(length, text);
        const body = new Uint8Array(Buffer.concat([part('metadata', '{}'), part('wasm', content), END]));
        const wasm = (await read(body)).get('wasm') ?? new Uint8Array(0);
        expect([wasm.buffer === body.buffer, Buffer.compare(wasm, content)]).toEqual([true, 0]);
      }
    }
  });

  it('of parts without a name ends at the limit, for any number of them', async () => {
    const body = Buffer.alloc(8 * MIB, '\r\n--b\r\n\r\n');
    const { value, turns } = await turnsDuring(read(body).catch((error: DatabaseError) => error));
    expect(value).toMatchObject({ code: 'invalid_argument' });
    expect(value).toHaveProperty(
      'message',
      expect.stringContaining('must have 2 parts: metadata, wasm; found 32 or more'),
    );
    expect(turns).toBeLessThan(20);
  });

  it('may have other parts, also twice, which are ignored, and named when one is missing', async () => {
    const others = [part('submit', 'Send'), part('more', ''), part('submit', 'Send')];
    const parts = await read(Buffer.concat([part('metadata', '{}'), ...others, part('wasm', 'x'), END]));
    expect([parts.get('metadata'), parts.get('wasm')]).toEqual([Buffer.from('{}'), Buffer.from('x')]);
    await expect(read(Buffer.concat([part('metadata', '{}'), ...others, END]))).rejects.toThrow(
      'wasm is required as a part of the body; ignored: submit, more',
    );
  });

  it('is rejected with a part that occurs twice', async () => {
    const twice = Buffer.concat([part('metadata', '{}'), part('wasm', 'x'), part('wasm', 'x'), END]);
    await expect(read(twice)).rejects.toThrow('wasm must be sent once');
  });
});
