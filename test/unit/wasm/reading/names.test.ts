// Goal: a name that could end a string, comment or line of JavaScript is refused everywhere in a component (G1).
// Method: a component with names in all such positions, and each forbidden character in each name.
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, inspect, type Refusal } from '#wasm';
import { viewText, wat } from '../../../support/wasm/wat.ts';

const OPTIONS = { kind: 'state-view', limits: DEFAULT_LIMITS } as const;

/** Printable characters that are neither letters nor digits nor allowed, and characters that end lines. */
const FORBIDDEN = Array.from(' !"%&\'()*,;<=>?\\^`{}~\n\r\t\0\u007f\u0085\u2028\u2029é𝒳');
const PLACEHOLDER = 'qqqq';
/** Positions of names, in the order of the component. */
const PLACES: string[] = [];

/** The letter after the placeholder distinguishes the names. */
const nameAt = (index: number): string => `${PLACEHOLDER}${String.fromCharCode('a'.charCodeAt(0) + index)}`;
const at = (place: string): string => `"${nameAt(PLACES.push(place) - 1)}"`;

const COMPONENT = viewText({
  after: `
    (core module $named
      (import ${at('core import, module')} ${at('core import, field')} (func))
      (func (export ${at('core export')}))
      (@custom ${at('custom section of a core module')} "-"))
    (core instance $given (export ${at('export of a core instance')} (func $i "evolve")))
    (core instance (instantiate $named (with ${at('argument of a core instance')} (instance $given))))
    (alias core export $i ${at('alias of a core instance')} (core func))
    (type (func (param ${at('parameter')} u8)))
    (type (record (field ${at('field of a record')} u8)))
    (type (variant (case ${at('case of a variant')})))
    (type (flags ${at('label of flags')}))
    (type (enum ${at('label of an enum')}))
    (type (instance (export ${at('export of an instance type')} (func))))
    (type (component
      (export ${at('export of a component type')} (func)) (import ${at('import of a component type')} (func))))
    (component $inner
      (import ${at('import of a component')} (func $f)) (export ${at('export of a component')} (func $f)))
    (instance $all (export ${at('export of an instance')} (func $evolve)))
    (instance (instantiate $inner (with ${at('argument of an instance')} (func $evolve))))
    (alias export $all ${at('alias of an instance')} (func))`,
});

describe('inspect', () => {
  it.each(PLACES)('refuses each forbidden character in a name: %s', async (place) => {
    const bytes = await wat(COMPONENT);
    const start = indexOfName(bytes, nameAt(PLACES.indexOf(place)));
    for (const character of FORBIDDEN) {
      const patched = bytes.slice();
      patched.set(new TextEncoder().encode(character.padEnd(1)), start);
      const { reason } = refused(patched);
      expect([character, reason.code]).toEqual([character, 'UnsafeName']);
      expect(reason.message).toMatch(/^The name "/);
      expect(reason.offset).toBe(start);
    }
  });

  it('refuses a name that is not UTF-8', async () => {
    const bytes = await wat(`(component (core module (@custom "qqqq" "")))`);
    bytes[indexOfName(bytes, 'qqqq')] = 0xff;
    const { reason } = refused(bytes);
    expect(reason).toMatchObject({ code: 'InvalidComponent', message: expect.stringContaining('not valid UTF-8') });
  });

  it('refuses a name that is very long', async () => {
    const { reason } = refused(await wat(`(component (core module (func (export "${'a'.repeat(513)}"))))`));
    expect(reason).toMatchObject({ code: 'UnsafeName', message: expect.stringContaining('limit is 512') });
  });

  it('refuses names of the host', async () => {
    const { reason } = refused(await wat('(component (core module (global (export "cairn:fuel") i64 (i64.const 0))))'));
    expect(reason).toMatchObject({ code: 'UnsafeName', message: expect.stringContaining('kept for the host') });
  });

  it.each([
    'cairn:component/state-reader@0.1.0',
    'cabi_post_cairn:component/folding@0.1.0#[method]fold.apply',
    '[export]$root',
    'cm32p2|_realloc',
    '_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE',
    '1.0.0+build',
    '',
  ])('accepts the names of toolchains: %s', async (name) => {
    const bytes = await wat(viewText({ core: `(func (export "${name}"))` }));
    expect(inspect(bytes, OPTIONS).kind).toBe('ok');
  });
});

function refused(bytes: Uint8Array): { readonly reason: Refusal } {
  const inspected = inspect(bytes, OPTIONS);
  if (inspected.kind === 'ok') throw new Error('The component was accepted');
  return inspected;
}

function indexOfName(bytes: Uint8Array, name: string): number {
  const index = Buffer.from(bytes).indexOf(name);
  if (index === -1) throw new Error(`The component does not have the name ${name}`);
  return index;
}
