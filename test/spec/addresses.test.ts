// Goal: a node has its documented default addresses. Method: the settings of a command line without any argument.
import { expect, it } from 'vitest';
import { readInvocation } from '../../src/main/settings/config.ts';

it('SPEC-ADDRESS-DEFAULTS: HTTP is on port 3000, gRPC on 50051', () => {
  expect(readInvocation([], {})).toMatchObject({
    value: { kind: 'run', config: { httpPort: 3000, grpcPort: 50051 } },
  });
});
