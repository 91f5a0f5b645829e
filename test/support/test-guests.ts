/** What runs the components of a test: as a node with its default settings has it, with one process of each kind. */
import { Guests } from '../../src/main/guests.ts';
import { SETTINGS } from '../../src/main/settings.ts';

export function testGuests(dataDir: string): Guests {
  const settings = {
    dataDir,
    guestExecutors: 1,
    guestMemoryBytes: SETTINGS.guestMemoryBytes.default,
    guestFuel: SETTINGS.guestFuel.default,
    guestCpuMs: SETTINGS.guestCpuMs.default,
    guestWallMs: SETTINGS.guestWallMs.default,
    guestOutputBytes: SETTINGS.guestOutputBytes.default,
    guestHostCalls: SETTINGS.guestHostCalls.default,
    guestCacheBytes: SETTINGS.guestCacheBytes.default,
  };
  return new Guests(settings, () => true);
}
