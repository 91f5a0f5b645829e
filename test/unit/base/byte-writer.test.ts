// Goal: bytes that a writer has returned never change afterwards. Method: random lengths below and above the limit for
// bytes in a shared buffer, compared with the written bytes.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteWriter } from '#base';

it('cut bytes keep their content while the writer writes more', () => {
  const lengths = fc.array(fc.oneof(fc.nat(40), fc.nat(3_000)), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(lengths, (all) => {
      const writer = new ByteWriter(1);
      const cuts = all.map((length, index) => {
        const wanted = new Uint8Array(length).fill(1 + index);
        writer.bytes(wanted);
        return { wanted, cut: writer.cut() };
      });
      for (const { wanted, cut } of cuts) expect(cut).toEqual(wanted);
      expect(writer.length).toBe(0);
    }),
  );
});

it('appends what another writer has, short or long', () => {
  const [writer, other] = [new ByteWriter(1), new ByteWriter(1)];
  for (const length of [0, 5, 2_000]) {
    other.bytes(new Uint8Array(length).fill(length));
    writer.append(other);
  }
  const five = new Uint8Array(5).fill(5);
  expect([...writer.view()]).toEqual([...five, ...five, ...new Uint8Array(2_000).fill(2_000)]);
});

it('short cuts share a buffer, long ones have their own', () => {
  const writer = new ByteWriter();
  const cut = (length: number): Uint8Array => {
    writer.bytes(new Uint8Array(length));
    return writer.cut();
  };
  expect(cut(10).buffer).toBe(cut(1_024).buffer);
  expect(cut(1_025).buffer.byteLength).toBe(1_025);
});
