/** Quantities of Kubernetes, such as `512Mi` or `250m`. */

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** 0 when there is none. @throws Error when it is none. */
export function amountOf(quantity: string | number | undefined): number {
  const [, digits, unit = ''] = /^([\d.]+)([A-Za-z]*)$/.exec(String(quantity ?? '0')) ?? [];
  const factor = UNITS[unit];
  if (digits === undefined || factor === undefined) throw new Error(`${quantity} is not a quantity`);
  return Number(digits) * factor;
}
