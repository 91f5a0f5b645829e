// Goal: the page of limits has every bound that a client can meet. Method: what the modules of limits export, against
// the names that the rows show; that the page itself is fresh is a house rule.
import { describe, expect, it } from 'vitest';
import { LIMIT_TABLES, NOT_MET } from '../../../scripts/support/limits-reference.ts';
import * as model from '../../../src/model/limits.ts';
import { SERVICE_LIMITS } from '../../../src/service/limits.ts';
import { GRPC_LIMITS } from '../../../src/transport/grpc/limits.ts';
import { HEAD_LIMITS } from '../../../src/transport/grpc/wire/frame-faults.ts';
import * as http from '../../../src/transport/http/limits.ts';

describe('the page of limits', () => {
  it('shows every limit once, but those that no client meets', () => {
    const shown = LIMIT_TABLES.flatMap(({ rows }) => rows.flatMap(({ names }) => names));
    const known = [model, http, SERVICE_LIMITS, GRPC_LIMITS, HEAD_LIMITS].flatMap((limits) => Object.keys(limits));
    expect([...shown, ...Object.keys(NOT_MET)].toSorted()).toEqual(known.toSorted());
  });
});
