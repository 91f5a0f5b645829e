// Goal: a grant applies to exactly the databases of its pattern, and a role to exactly its rights. Method: tables;
// patterns compared with an equivalent regular expression.
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { boundsOf, formatGrant, hasRight, hasRightOnAll, hasRightOnAny, parseGrant, type Right, ROLES } from '#model';
import { runs } from '../../support/runs.ts';

const RIGHTS: readonly Right[] = ['read', 'write', 'deploy', 'administer'];

test('a role has the rights of its row, and no others', () => {
  const rows = ROLES.map((role) => [
    role,
    RIGHTS.filter((right) => hasRight([{ role, databases: '*' }], right, 'shop')).join(' '),
  ]);
  expect(rows).toEqual([
    ['reader', 'read'],
    ['writer', 'read write'],
    ['deployer', 'read deploy'],
    ['admin', 'read write deploy administer'],
  ]);
});

describe('a grant', () => {
  it.each([
    ['reader', { role: 'reader', databases: '*' }, 'reader'],
    ['writer:shop', { role: 'writer', databases: 'shop' }, 'writer:shop'],
    ['admin:*', { role: 'admin', databases: '*' }, 'admin'],
    ['deployer:eu-*-shop*', { role: 'deployer', databases: 'eu-*-shop*' }, 'deployer:eu-*-shop*'],
    ['admin:eu-*:10', { role: 'admin', databases: 'eu-*', databasesMax: 10 }, 'admin:eu-*:10'],
    ['admin:*:1000000', { role: 'admin', databases: '*', databasesMax: 1_000_000 }, 'admin:*:1000000'],
  ])('%s is parsed and formatted', (text, grant, written) => {
    expect(parseGrant(text)).toEqual(grant);
    expect(formatGrant(grant as never)).toBe(written);
  });

  const NONE =
    'root Reader reader: reader:Shop reader:a:b reader:%2a reader:a:1 admin:a: admin:a:0 admin:a:01 admin:a:-1 ' +
    'admin:a:1000001 admin:a:1:1 admin::1';
  it.each(['', ' reader', 'reader: shop', ...NONE.split(' ')])('%j is not a grant', (text) => {
    expect(parseGrant(text)).toBeUndefined();
  });

  it('with a number limits the databases that it creates, and does not administer all databases', () => {
    const grants = ['admin:*:10', 'admin:eu-*:2', 'reader'].flatMap((text) => parseGrant(text) ?? []);
    expect(boundsOf(grants, 'eu-shop').map(formatGrant)).toEqual(['admin:*:10', 'admin:eu-*:2']);
    expect(boundsOf(grants, 'shop').map(formatGrant)).toEqual(['admin:*:10']);
    expect(boundsOf([...grants, { role: 'admin', databases: 'shop' }], 'shop')).toEqual([]);
    expect(RIGHTS.filter((right) => hasRightOnAll(grants, right))).toEqual(['read', 'write', 'deploy']);
  });

  it('applies only to the databases of its pattern', () => {
    const grants = [
      { role: 'writer', databases: 'shop' },
      { role: 'reader', databases: 'log-*' },
    ] as const;
    const asked = ['shop', 'shop2', 'log-eu'].map((name) => hasRight(grants, 'write', name));
    expect(asked).toEqual([true, false, false]);
    expect([hasRight(grants, 'read', 'log-eu'), hasRight(grants, 'read', 'log')]).toEqual([true, false]);
    expect(hasRightOnAll(grants, 'read')).toBe(false);
    expect(hasRightOnAll([{ role: 'reader', databases: '*' }], 'read')).toBe(true);
    expect(hasRightOnAny(grants, 'write')).toBe(true);
    expect(hasRightOnAny(grants, 'deploy')).toBe(false);
  });

  it('has a pattern in which a star matches any characters', () => {
    const part = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), fc.array(part, { maxLength: 6 }), (parts, name) => {
        const databases = parts.join('*');
        const text = name.join('');
        const says = new RegExp(`^${parts.join('.*')}$`).test(text);
        expect(hasRight([{ role: 'reader', databases }], 'read', text)).toBe(says);
      }),
      { numRuns: runs(2000) },
    );
  });
});
