// Goal: a grant with a number limits the databases of its pattern, also with concurrent creations (V22). Method:
// principals with such grants on the service of one node.
import { describe, expect, it } from 'vitest';
import type { Principal } from '#auth';
import { DatabaseError } from '#base';
import { parseGrant } from '#model';
import { guardService, type Service } from '#service';
import { ServiceWorld } from '../../support/service-world.ts';

const world = await new ServiceWorld().start();

function seenBy(...grants: readonly string[]): Service {
  const principal: Principal = {
    id: 'key:1',
    name: 'tenant',
    attributes: new Map(),
    grants: grants.flatMap((grant) => parseGrant(grant) ?? []),
    holds: () => true,
    proof: () => ({}),
  };
  return guardService(world.service, principal);
}

async function created(service: Service, databaseName: string): Promise<string> {
  try {
    await service.createDatabase({ databaseName });
    return 'created';
  } catch (failure) {
    if (failure instanceof DatabaseError) return `${failure.code} ${failure.details.reason ?? ''}`;
    throw failure;
  }
}

const FULL = 'storage_full DatabaseCountQuota';

describe('createDatabase by a grant with a number (V22)', () => {
  it('counts the existing databases of the pattern, regardless of their creator', async () => {
    const [tenant, operator] = [seenBy('admin:acme-*:2'), seenBy('admin')];
    expect(await created(operator, 'acme-1')).toBe('created');
    expect(await created(operator, 'other')).toBe('created');
    expect(await created(tenant, 'acme-2')).toBe('created');
    expect(await created(tenant, 'acme-3')).toBe(FULL);
    await expect(tenant.createDatabase({ databaseName: 'acme-3' })).rejects.toThrow(
      '2 are named by "acme-*" (admin:acme-*:2)',
    );
    expect(await created(tenant, 'acme-1')).toMatch(/^already_exists/);
    expect(await created(operator, 'acme-3')).toBe('created');
    for (const databaseName of ['acme-1', 'acme-2']) await tenant.deleteDatabase({ databaseName });
    expect(await created(tenant, 'acme-4')).toBe('created');
  });

  it('accepts one of many concurrent creations when one is left', async () => {
    const tenant = seenBy('admin:burst-*:1');
    const all = await Promise.all(Array.from({ length: 20 }, (_, at) => created(tenant, `burst-${at}`)));
    expect(all.toSorted()).toEqual(['created', ...Array.from({ length: 19 }, () => FULL)]);
  });

  it('is accepted when one of its grants has room, or has no number', async () => {
    const both = seenBy('admin:two-*:1', 'admin:two-b*:1');
    expect(await created(both, 'two-b1')).toBe('created');
    expect(await created(both, 'two-b2')).toBe(FULL);
    expect(await created(both, 'two-a1')).toBe(FULL);
    expect(await created(seenBy('admin:two-*:1', 'admin:two-a1'), 'two-a1')).toBe('created');
    expect(await created(both, 'elsewhere')).toBe('permission_denied RightLacking');
  });
});
