// Goal: each operation starts its span. Method: each operation on a service with a tracer that keeps spans.
import { expect, it } from 'vitest';
import type { Span } from '#observability';
import { OPERATIONS, type Operation, type Service } from '#service';
import { ServiceWorld } from '../../support/service-world.ts';

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function watched(): { readonly span: Span; readonly names: readonly string[] } {
  const names: string[] = [];
  const nothing = (): void => undefined;
  const span: Span = {
    traceId: 'a'.repeat(32),
    isRecorded: true,
    child: (name) => {
      names.push(name);
      return span;
    },
    set: nothing,
    event: nothing,
    link: nothing,
    headers: () => ({}),
    fail: nothing,
    end: nothing,
  };
  return { span, names };
}

function begin(service: Service, operation: Operation, request: object): void {
  const run = service[operation] as (request: object) => Promise<unknown>;
  run(request).catch(() => undefined);
}

it.each(OPERATIONS)('each operation starts with its span: %s', async (operation) => {
  const { span, names } = watched();
  const { service } = await new ServiceWorld().start();
  begin(service, operation, { span, signal: AbortSignal.abort() });
  expect(names[0]).toBe(`cairn.${snakeCase(operation)}`);
});
