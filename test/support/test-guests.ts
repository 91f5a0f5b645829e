/** Runs components in tests with the default settings of a node and one process of each kind. */
import { Guests } from '../../src/main/node/guests.ts';
import { SETTINGS } from '../../src/main/settings/settings.ts';

/** State Views that could not be folded, and those that could be folded again, in order. */
export interface HeardViews {
  readonly troubled: string[];
  readonly mended: string[];
}

export function testGuests(dataDir: string, heard: HeardViews = { troubled: [], mended: [] }): Guests {
  const settings = {
    dataDir,
    guestExecutors: 1,
    guestMemoryBytes: SETTINGS.guestMemoryBytes.default,
    guestFuel: SETTINGS.guestFuel.default,
    guestCpuMs: SETTINGS.guestCpuMs.default,
    guestWallMs: SETTINGS.guestWallMs.default,
    guestCacheBytes: SETTINGS.guestCacheBytes.default,
    maintenanceFolds: SETTINGS.maintenanceFolds.default,
    maintenanceScheduleMs: SETTINGS.maintenanceScheduleMs.default,
  };
  const maintenance = {
    onTrouble: ({ view }: { readonly view: string }, message: string) =>
      void heard.troubled.push(`${view}: ${message}`),
    onMended: ({ view }: { readonly view: string }) => void heard.mended.push(view),
  };
  return new Guests({ settings, mayWrite: () => true, maintenance, onComponent: () => undefined });
}
