/** Invoices numbered without a gap. */
import type { Decider, Fact } from '../decision.ts';
import type { Scenario } from './scenario.ts';

interface CreateInvoice {
  readonly customer: string;
}

const created = (number: number, customer: string): Fact => ({
  type: 'invoice-created',
  stream: 'invoices',
  subject: String(number),
  data: { customer },
});

export const CREATE_INVOICE: Decider<CreateInvoice> = {
  boundary: () => ({ type: 'invoice-created' }),
  decide: (past, { customer }) => created(Number(past.at(-1)?.subject ?? 0) + 1, customer),
};

export const INVOICES: readonly Scenario<CreateInvoice>[] = [
  { name: 'the first invoice is number 1', past: [], command: { customer: 'ada' }, outcome: created(1, 'ada') },
  {
    name: 'the next one follows',
    past: [created(1, 'ada'), { type: 'customer-moved', stream: 'customers', subject: '7', data: {} }],
    command: { customer: 'bob' },
    outcome: created(2, 'bob'),
  },
];
