/**
 * Records the author of a transaction in its principal_attributes.
 *
 *   V20  With authentication on, principal_attributes that begin with `cairn.` are written only by the node that has
 *        authenticated the client; such attributes from a client are dropped.
 */
import type { Principal } from '#auth';
import { type Faults, PRINCIPAL_ATTRIBUTES_MAX, type TransactionOptions } from '#model';

const RESERVED = 'cairn.';

/** Requests that the guard signs: transactions and commands. */
interface Signable {
  readonly options: TransactionOptions;
  readonly faults: Faults;
}

export function signing(principal: Principal): <Request extends Signable>(request: Request) => Request {
  const { id, name, attributes } = principal;
  const signature = [['id', id] as const, ['name', name] as const, ...attributes].map(
    ([key, value]) => [`${RESERVED}${key}`, value] as const,
  );
  const others = PRINCIPAL_ATTRIBUTES_MAX - signature.length;
  return (request) => {
    const { options, faults } = request;
    const own = [...options.principalAttributes].filter(([key]) => !key.startsWith(RESERVED));
    if (own.length > others) {
      faults.add('principal_attributes', `must be at most ${others} beside those of the principal`, own.length);
    }
    return { ...request, options: { ...options, principalAttributes: new Map([...own, ...signature]) } };
  };
}
